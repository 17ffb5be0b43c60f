"""Shared libraries: one per CPU level, in the directories that glibc searches.

``glibc-hwcaps/x86-64-v3/libx.so`` and similar files accompany ``libx.so`` (the baseline). The loader selects
the best one for the CPU if it finds the library by name; a library opened by path is the baseline.
"""

import tempfile
from pathlib import Path

from mpiric.build.command import Command
from mpiric.build.driver import Driver
from mpiric.build.plain_link import Linked, deliver, for_target, output_of, trial, with_output
from mpiric.build.targets import BASELINE, GLIBC_LEVELS, in_order
from mpiric.build.unpack import union_of_needs, variants_in
from mpiric.host.facts.elf import read_elf


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
            _lay_out(inner / output.name, output, GLIBC_LEVELS[target])
    other_targets = [target for target in targets if target not in GLIBC_LEVELS]
    return Linked(
        0,
        messages,
        tuple(targets),
        (_sentence(output, other_targets, only=len(other_targets) == len(targets)),) if other_targets else (),
    )


def _lay_out(library: Path, output: Path, level: str) -> None:
    """Move a library into the level's directory, also under its soname."""
    directory = output.parent / "glibc-hwcaps" / level
    directory.mkdir(parents=True, exist_ok=True)
    deliver(library, directory / output.name)
    soname = _soname(library)
    if soname and soname != output.name:
        link = directory / soname
        link.unlink(missing_ok=True)
        link.symlink_to(output.name)


def _soname(library: Path) -> str:
    elf = read_elf(str(library))
    return elf.soname if elf else ""


def _sentence(output: Path, targets: list[str], only: bool) -> str:  # noqa: FBT001
    levels = ", ".join(GLIBC_LEVELS)
    what = "and only the baseline is built" if only else "and that is left out"
    return (
        f"{output.name} is a shared library: the loader knows no variant for {', '.join(targets)}, {what} "
        f"(it chooses among {levels})"
    )
