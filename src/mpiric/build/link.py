"""Link of objects and libraries into an ordinary executable with all variants.

1. Link plainly; the linker reports the used objects, members and libraries, and the exports.
2. Per variant: take its objects out, link them into one object (``ld -r``), make its names its own.
3. Link all of them with a dispatcher, by the user's own command line.
"""

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from mpiric.build.command import Command, parse_compiler_command
from mpiric.build.driver import Driver
from mpiric.build.elf import STB_WEAK, ElfFile
from mpiric.build.information import describe
from mpiric.build.inputs import FileWords, linker_words, rewritten, without_wrap, wrapped_symbols
from mpiric.build.overlay import set_tables_apart
from mpiric.build.partial import Variant, find_exports, make_variants
from mpiric.build.payload import Origin
from mpiric.build.plain_link import Linked, deliver, for_target, output_of, trial, with_output
from mpiric.build.tables import DispatchTables, source
from mpiric.build.targets import BASELINE, features, in_order
from mpiric.build.trace import Loaded, Trace, all_members, elf_of, shared_once
from mpiric.build.unpack import union_of_needs, variants_in, write_list, write_objects
from mpiric.host.packaged import packaged_directory
from mpiric.host.toolchain import Toolchain
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, NotFoundError

# General registers only: vector registers hold arguments of other functions when it runs.
_FLAGS = ("-x", "c", "-std=gnu11", "-O2", "-g0", "-w", "-fPIE", "-ffreestanding", "-fno-builtin",
          "-fno-stack-protector", "-fno-lto", "-fno-asynchronous-unwind-tables",
          "-mgeneral-regs-only")  # fmt: skip
_X86_64 = ("-march=x86-64", "-fcf-protection")
_SPEAK_GNU = {"gcc", "clang", "oneapi", "aocc", "cray"}


def compile_dispatcher(driver: Driver, plan: DispatchTables, scratch: Path) -> Path:
    """Compile the object with tables, trampolines and dispatcher."""
    text, object_file = scratch / "mpiric.c", scratch / "mpiric.o"
    text.write_text(source(plan, features(plan.machine)))
    extra = _X86_64 if plan.machine == "x86_64" else ()
    candidates = [driver.command] if driver.identity.family in _SPEAK_GNU else []
    candidates += [(name,) for name in ("gcc", "cc", "clang") if shutil.which(name)]
    headers = packaged_directory("build/dispatch")
    complaint = ""
    for command in candidates:
        done = driver.toolchain.run(
            [*command, *_FLAGS, *extra, f"-I{headers}", "-c", str(text), "-o", str(object_file)]
        )
        if done.status == 0:
            return object_file
        complaint = complaint or done.errors.strip()
    raise NotFoundError(
        f"cannot compile the dispatcher: {complaint or 'there is not any C compiler'}",
        hint="load a module with a C compiler, or install gcc",
    )


_HINT = "leave this variant out of --targets, or build with newer GNU binutils"
_UNKNOWN = re.escape("(bad)")  # instruction unknown to objdump, which may need any feature
_PROOF = "disassembled to the end"


def really_needed(
    code: Path, allowed: Sequence[str], machine: str, objdump: str, toolchain: Toolchain
) -> tuple[str, ...]:
    """Return ``allowed`` without features whose distinct instructions do not occur in the object."""
    known_features = features(machine) if allowed else {}
    spelled = {
        name: known_features[name].instructions for name in allowed if known_features[name].instructions
    }
    if not spelled:
        return tuple(allowed)
    pattern = "|".join([*spelled.values(), _UNKNOWN, _PROOF])
    # Only matches are passed on: the disassembly of a large program is hundreds of times larger than its
    # code.
    script = '{ LC_ALL=C "$1" -d --no-show-raw-insn "$2" && echo "$4"; } | grep -owE -e "$3" | sort -u'
    done = toolchain.run(["sh", "-c", script, "sh", objdump, str(code), pattern, _PROOF])
    hits = set(done.printed.splitlines())
    if _PROOF not in hits or "(bad)" in hits:
        return tuple(allowed)
    return tuple(
        name
        for name in allowed
        if name not in spelled or any(re.fullmatch(spelled[name], hit) for hit in hits)
    )


@dataclass
class FatLink:
    """Link in progress."""

    driver: Driver
    command: Command
    root: Path
    scratch: Path
    trace: Trace
    plain: ElfFile
    origins: Mapping[str, Sequence[Origin]]
    needs: Mapping[str, Sequence[str]]  # target → CPU features the compiler may use
    inside: list[Loaded]  # objects linked into every variant
    outside: list[Loaded]  # plain objects with one copy for all variants

    @property
    def baseline(self) -> str:
        """Target that every CPU runs."""
        return BASELINE[self.driver.identity.machine]

    @property
    def others(self) -> tuple[str, ...]:
        """Other targets, most demanding first."""
        return tuple(t for t in in_order(self.needs) if t != self.baseline)


def link(driver: Driver, command: Command) -> Linked:
    """Link a program; a program without fat objects is linked as the compiler does."""
    with tempfile.TemporaryDirectory(prefix="mpiric-") as name:
        scratch, root = Path(name), Path.cwd()
        plain = scratch / "plain"
        status, messages, trace = trial(driver, command, root, plain)
        if status != 0:
            return Linked(status, messages)
        if not any(item.is_fat for item in trace.loaded):
            deliver(plain, Path(output_of(command)))
            return Linked(0, messages)
        job = _prepare(driver, command, root, scratch, trace, ElfFile(plain.read_bytes()))
        return _link_fat(job)


def _prepare(
    driver: Driver, command: Command, root: Path, scratch: Path, trace: Trace, plain: ElfFile
) -> FatLink:
    origins = variants_in(trace.loaded)
    loaded = list(trace.loaded)
    link_time = any(item.is_link_time for item in loaded)
    fat_names = {name for item in loaded if item.is_fat for name in elf_of(item.data).defined_names}
    outside = (
        shared_once(loaded, fat_names) if not (link_time or wrapped_symbols(command.arguments)) else set()
    )
    inside = [item for at, item in enumerate(loaded) if at not in outside and not item.is_toolchain]
    return FatLink(
        driver=driver,
        command=command,
        root=root,
        scratch=scratch,
        trace=trace,
        plain=plain,
        origins=origins,
        needs=union_of_needs(origins),
        inside=inside,
        outside=[loaded[at] for at in sorted(outside)],
    )


def _link_fat(job: FatLink) -> Linked:
    base = _partial(job, job.baseline, base=None)
    exports = find_exports(base, _required_names(job, base))
    toolchain = job.driver.toolchain
    parts = toolchain.each(lambda target: _partial(job, target, base=base), job.others)
    elf_of_target = dict(zip(job.others, parts, strict=True)) | {job.baseline: base}
    needs = {target: _really_needed(job, target) for target in elf_of_target}
    variants = make_variants(elf_of_target, job.baseline, exports)
    files = toolchain.each(lambda variant: _localise(job, variant), variants)
    weak = frozenset(s.name for s in base.symbols if s.binding == STB_WEAK and s.is_defined)
    info = describe(variants, job.origins, needs, job.needs, job.baseline)
    plan = DispatchTables(job.driver.identity.machine, variants, needs, job.needs, exports, weak, info)
    dispatcher = compile_dispatcher(job.driver, plan, job.scratch)
    program = job.scratch / "fat"
    arguments = _final_words(job, [dispatcher, *files], program)
    done = toolchain.run([*job.driver.command, *arguments])
    if done.status != 0:
        return Linked(done.status, done.errors)
    deliver(program, Path(output_of(job.command)))
    return Linked(0, done.errors, targets=tuple(v.target for v in variants))


def _required_names(job: FatLink, base: ElfFile) -> set[str]:
    """Return the names that the rest of the program uses: exports, start-up code, linker options."""
    names = {symbol.name for symbol in job.plain.dynamic_symbols if symbol.is_defined}
    for item in job.trace.loaded:
        if item.is_toolchain:
            names |= elf_of(item.data).needed_names
    handed = linker_words(job.command.arguments)
    handed_names = {part for word in handed for part in word.replace("=", " ").split()}
    handed_names |= {job.command.option("-u"), job.command.option("-e")}
    return names | (handed_names & base.defined_names)


def _partial(job: FatLink, target: str, base: ElfFile | None) -> ElfFile:
    """Link the objects of a variant into one, including archive members that only the variant needs."""
    items = list(job.inside)
    if any(item.is_link_time for item in items):
        items = _link_time_objects(job, target)
    elf = _relocatable(job, target, items)
    while base is not None:
        missing = elf.needed_names - base.needed_names - base.defined_names
        added = _members_defining(job, missing, items) if missing else []
        if not added:
            return elf
        items.extend(added)
        elf = _relocatable(job, target, items)
    return elf


def _relocatable(job: FatLink, target: str, items: Sequence[Loaded]) -> ElfFile:
    scratch = job.scratch / f"objects-{target}"
    shutil.rmtree(scratch, ignore_errors=True)
    files = write_objects(items, target, job.needs[target], scratch, set_tables_apart)
    joined = _partial_file(job, target)
    wraps = [f"--wrap={name}" for name in wrapped_symbols(job.command.arguments)]
    listing = write_list(files, job.scratch / f"objects-{target}.list")
    ld = job.driver.program("ld")
    done = job.driver.toolchain.run(
        [ld, "-r", "-d", "--force-group-allocation", *wraps, "-o", str(joined), listing]
    )
    if done.status != 0:
        raise MpiricError(f"the variant {target} cannot be linked: {done.errors.strip()}", hint=_HINT)
    return ElfFile(joined.read_bytes())


def _partial_file(job: FatLink, target: str) -> Path:
    return job.scratch / f"partial-{target}.o"


def _members_defining(job: FatLink, names: set[str], items: Sequence[Loaded]) -> list[Loaded]:
    """Return members of the archives of the plain link that define names only a variant uses."""
    have = {(item.path, item.member) for item in items}
    members_found: list[Loaded] = []
    for archive in job.trace.archives:
        for member in all_members(archive):
            item = Loaded(archive, Path(member.name).name, member.data)
            if (
                item.is_toolchain
                or (item.path, item.member) in have
                or not member.data.startswith(b"\x7fELF")
            ):
                continue
            if names & elf_of(member.data).defined_names:
                names = names - elf_of(member.data).defined_names
                members_found.append(item)
    return members_found


def _link_time_objects(job: FatLink, target: str) -> list[Loaded]:
    """Link the objects of a variant completely, so that link-time optimisation generates its code."""
    if target == job.baseline:
        loaded: Sequence[Loaded] = job.trace.loaded
    else:
        scratch = job.scratch / f"lto-{target}"
        scratch.mkdir()
        command = for_target(job.driver, job.command, job.trace, job.root, target, job.needs[target], scratch)
        status, messages, trace = trial(job.driver, command, job.root, scratch / "plain")
        if status != 0:
            raise MpiricError(
                f"link-time optimisation of the variant {target} failed: {messages.strip()}",
                hint="build without -flto, or with fewer --targets",
            )
        loaded = trace.loaded
    return [item for item in loaded if not item.is_toolchain and not elf_of(item.data).has_lto]


def _localise(job: FatLink, variant: Variant) -> Path:
    """Rename all symbols of a variant except the dispatcher's."""
    wide = job.scratch / f"wide-{variant.target}.o"
    names = job.scratch / f"keep-{variant.target}"
    object_file = job.scratch / f"variant-{variant.target}.o"
    wide.write_bytes(variant.data)
    names.write_text("".join(f"{name}\n" for name in variant.keep) or "__mpiric.none\n")
    tool = job.driver.program("objcopy")
    done = job.driver.toolchain.run([tool, f"--keep-global-symbols={names}", str(wide), str(object_file)])
    if done.status != 0:
        raise MpiricError(
            f"{tool} cannot rename the symbols of {variant.target}: {done.errors.strip()}", hint=_HINT
        )
    wide.unlink()
    return object_file


def _really_needed(job: FatLink, target: str) -> tuple[str, ...]:
    tools, machine = (job.driver.program("objdump"), job.driver.toolchain), job.driver.identity.machine
    return really_needed(_partial_file(job, target), job.needs[target], machine, *tools)


def _final_words(job: FatLink, files: Sequence[Path], output: Path) -> list[str]:
    """Return the user's arguments with the variants instead of the fat inputs."""
    inside = {item.path for item in job.inside if not item.is_link_time}
    recognised = FileWords.of(job.root, inside)
    extracted = _plain_members(job, inside)
    placed = [str(path) for path in (*files, *extracted)]
    done = False

    def replacement(word: str) -> list[str]:
        nonlocal done
        if recognised.file_of(word) is None:
            return [word]
        if done:
            return []
        done = True
        return placed

    arguments = rewritten(
        parse_compiler_command(without_wrap(with_output(job.command, output).arguments)), replacement
    )
    return arguments if done else [*placed, *arguments]


def _plain_members(job: FatLink, dropped: set[Path]) -> list[Path]:
    """Return members needed once from archives that are no longer on the command line."""
    scratch = job.scratch / "once"
    scratch.mkdir(exist_ok=True)
    written: list[Path] = []
    for number, item in enumerate(job.outside):
        if item.member and item.path in dropped:
            path = scratch / f"{number:05d}-{Path(item.member).name}"
            path.write_bytes(item.data)
            written.append(path)
    return written
