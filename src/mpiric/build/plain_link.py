"""Link by the compiler itself: plain, and repeated with the objects of one target."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mpiric.build.command import Command, parse_compiler_command, without
from mpiric.build.driver import Driver
from mpiric.build.inputs import FileWords, linker_words, rewritten
from mpiric.build.targets import BASELINE, GLIBC_LEVELS, in_order
from mpiric.build.trace import TRACE_WORDS, Loaded, Trace, read_trace
from mpiric.build.unpack import union_of_needs, variants_in, write_archive, write_objects
from mpiric.host.facts.elf import read_elf
from mpiric.host.owned_files import open_new
from mpiric.model.dataclass import dataclass


@dataclass(frozen=True)
class Linked:
    """Result of a link."""

    status: int
    messages: str
    targets: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()


def output_of(command: Command) -> str:
    """Return the file name of the program."""
    return command.output or "a.out"


def with_output(command: Command, output: Path | str) -> Command:
    """Return the command with another output."""
    return parse_compiler_command([*without(command, (), ("-o",)), "-o", str(output)])


def trial(driver: Driver, command: Command, root: Path, output: Path) -> tuple[int, str, Trace]:
    """Link plainly to ``output``; return status, messages of the linker, and used files."""
    keep = ["-save-temps"] if driver.identity.family == "gcc" else []
    arguments = with_output(command, output).arguments
    done = driver.toolchain.run([*driver.command, *arguments, *TRACE_WORDS, *keep])
    if done.status != 0:
        return done.status, done.errors, Trace((), ())
    named = [*(command.arguments[at] for at in command.inputs), *linker_words(command.arguments)]
    inputs_given = {(root / word).resolve() for word in named if not word.startswith("-")}
    return 0, done.errors, read_trace(done.stdout.decode(errors="surrogateescape"), root, inputs_given)


def for_target(
    driver: Driver,
    command: Command,
    trace: Trace,
    root: Path,
    target: str,
    needs: Sequence[str],
    scratch: Path,
) -> Command:
    """Return the command with every fat object and archive replaced by its contents for one target."""
    fat: dict[Path, Path] = {}
    by_path: dict[Path, list[Loaded]] = {}
    for item in trace.loaded:
        if item.is_fat:
            by_path.setdefault(item.path, []).append(item)
    ar = driver.program("gcc-ar") if driver.identity.family == "gcc" else driver.program("ar")
    for number, (path, items) in enumerate(by_path.items()):
        inner = scratch / f"in-{number}"
        if items[0].member:
            fat[path.resolve()] = write_archive(path, target, needs, inner, driver.toolchain, ar)
        else:
            fat[path.resolve()] = write_objects(items, target, needs, inner)[0]
    file_words = FileWords.of(root, fat)

    def replacement(word: str) -> list[str]:
        file = file_words.file_of(word)
        return [str(fat[file])] if file else [word]

    return parse_compiler_command(rewritten(command, replacement))


def deliver(program: Path, output: Path) -> None:
    """Write the program like a linker: as a new file with a mode according to the umask."""
    if output.is_char_device():
        return
    output.unlink(missing_ok=True)
    try:
        with program.open("rb") as source, os.fdopen(open_new(output, 0o666), "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
            os.fchmod(target.fileno(), program.stat().st_mode & 0o777)
    except OSError as error:
        output.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(output)) from None


def link_shared(driver: Driver, command: Command) -> Linked:
    """Link the baseline to the requested path, and each level into its directory."""
    output = Path(output_of(command))
    with tempfile.TemporaryDirectory(prefix="mpiric-") as name:
        scratch, root = Path(name), Path.cwd()
        baseline_file = scratch / output.name
        status, messages, trace = trial(driver, command, root, baseline_file)
        if status != 0:
            return Linked(status, messages)
        needs = union_of_needs(variants_in(trace.loaded))
        deliver(baseline_file, output)
        baseline = BASELINE[driver.identity.machine]
        targets = [target for target in in_order(needs) if target != baseline]
        for target in [t for t in targets if t in GLIBC_LEVELS]:
            inner = scratch / target
            inner.mkdir()
            target_command = for_target(driver, command, trace, root, target, needs[target], inner)
            done = driver.toolchain.run(
                [*driver.command, *with_output(target_command, inner / output.name).arguments]
            )
            if done.status != 0:
                return Linked(done.status, f"{messages}mpiric: the variant {target}:\n{done.errors}")
            library = inner / output.name
            directory = output.parent / "glibc-hwcaps" / GLIBC_LEVELS[target]
            directory.mkdir(parents=True, exist_ok=True)
            deliver(library, directory / output.name)
            elf = read_elf(str(library))
            soname = elf.soname if elf else ""
            if soname and soname != output.name:
                link = directory / soname
                link.unlink(missing_ok=True)
                link.symlink_to(output.name)
    other_targets = [target for target in targets if target not in GLIBC_LEVELS]
    return Linked(
        0,
        messages,
        tuple(targets),
        (_sentence(output, other_targets, only=len(other_targets) == len(targets)),) if other_targets else (),
    )


def _sentence(output: Path, targets: list[str], only: bool) -> str:  # noqa: FBT001
    levels = ", ".join(GLIBC_LEVELS)
    what = "and only the baseline is built" if only else "and that is left out"
    return (
        f"{output.name} is a shared library: the loader knows no variant for {', '.join(targets)}, {what} "
        f"(it chooses among {levels})"
    )
