"""Candidate layouts of files, derived from their writers, and the settings for a layout.

Candidates: one target per writer, k per node (t3pio: McLay, James, Liu and Barth, XSEDE12), or all targets.
If each rank writes its own file: one target, or an equal share of all. The stripe size is the size of a
write.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from mpiric.knobs._outputs import directory_of, output_system, outputs, patterns_of
from mpiric.model.amount import size
from mpiric.model.file_rules import HERE, LayoutRule, is_plain_directory, parse_layouts, write_layouts
from mpiric.model.knob import Skip, Try
from mpiric.model.launch import Spelling
from mpiric.model.machine import FileSystem
from mpiric.model.profile import FileTotal
from mpiric.model.situation import Situation
from mpiric.model.storage import ALL_TARGETS, FileLayout, StorageFacts, Stripes
from mpiric.storage import Storage, storages

MIB = 1 << 20
_LARGEST_STRIPE = 64 * MIB
_SMALL_FILE = 4 * MIB
_MANY_FILES = 1000  # number of files in one directory
_WORTH = 0.1  # minimum share of the bytes for which a kind of files gets its own layout
_MOST_VALUES = 6
_LONGEST = 1500  # characters of a value
BY_THE_RUNTIME = ("lustre",)  # file systems for which the runtime can set layouts of single files


def consider(situation: Situation) -> Skip | Try:
    """Propose layouts of the program's output files, if the user may set them."""
    system, files = output_system(situation), outputs(situation)
    storage = storages().get(system.kind) if system else None
    if system is None or storage is None or storage.render is None:
        return Skip("the working directory's file system has no layouts to set")
    if not system.is_writable:
        return Skip("the working directory is mounted read-only")
    if (system.targets or 2) < 2:
        return Skip("the file system has one target")
    if not files:
        return Skip("no recorded run has made files below the working directory")
    if (written := situation.shown("io_bytes_written")) < 1e6:
        return Skip(f"{size(written)} are written to files")
    if reason := situation.layout_refused:
        return Skip(reason)
    values, default = _values(files, system, storage), system.default_layout
    shared = [file for file in files if file.ranks > 1]
    if default is not None and default.count == 1 and shared:
        return Try(values, 0.9, f"{len(shared)} files of several ranks are stored on one target each")
    return Try(values, 0.5, "files are made on a striped file system, in its default layout")


def _values(files: Sequence[FileTotal], system: FileSystem, storage: Storage) -> tuple[str, ...]:
    """Return layouts of all output directories, or of kinds of files if a directory has several."""
    values = dict[str, None]()
    shared, alone = _by_writers(files)
    of_shared: list[FileLayout | None] = [*_candidates(shared, system)] or [None]
    of_alone: list[FileLayout | None] = [*_candidates(alone, system)] or [None]
    for layouts in product(of_shared, of_alone):
        rules = _rules(shared, alone, *layouts)
        sound = rules and not any(storage.check(rule.layout, _facts(system)) for rule in rules)
        if sound and any(rule.layout != system.default_layout for rule in rules):
            values[write_layouts(rules)] = None
    return tuple(value for value in values if len(value) < _LONGEST)[:_MOST_VALUES]


def why_not_set(value: str, situation: Situation) -> str:
    """Return why a layout cannot be set in the job's output directory, "" if it can."""
    system = output_system(situation)
    storage = storages().get(system.kind) if system else None
    if system is None or storage is None or storage.render is None:
        return f"{system.kind} has no layouts" if system else "the file system is not known"
    if not system.is_writable:
        return f"{system.mount_point} is mounted read-only"
    rules = parse_layouts(value)
    if wrong := [why for rule in rules if (why := storage.check(rule.layout, _facts(system)))]:
        return wrong[0]
    if any(rule.is_pattern for rule in rules):
        if system.kind not in BY_THE_RUNTIME:
            return f"single files cannot be laid out on {storage.title}"
        if not situation.tuner.library:
            return situation.tuner.why_not or "mpiric has no runtime for this MPI library"
    return ""


def settings(value: str, situation: Situation) -> Spelling | None:
    """Return commands for directories, or runtime options for kinds of files; None if neither is possible."""
    system = output_system(situation)
    if system is None or why_not_set(value, situation):
        return None
    storage, rules = storages()[system.kind], parse_layouts(value)
    by_name = [rule for rule in rules if rule.is_pattern]
    environment = {"MPIRIC_FILE_LAYOUTS": ";".join(map(_for_runtime, by_name))} if by_name else {}
    return Spelling(
        environment=environment,
        preload=(situation.tuner.library,) if by_name else (),
        prepare=tuple(
            command for rule in rules if not rule.is_pattern for command in _commands(rule, storage)
        ),
        note="holds for files made from then on: the commands come before anything is copied in",
    )


def _commands(rule: LayoutRule, storage: Storage) -> Iterator[tuple[str, ...]]:
    assert storage.render is not None
    if rule.where != HERE:
        yield ("mkdir", "-p", rule.where)
    yield from storage.render(rule.layout, rule.where)


def _for_runtime(rule: LayoutRule) -> str:
    """Return a rule in the syntax of MPIRIC_FILE_LAYOUTS (spec/options.toml)."""
    extents = ",".join(
        f"{extent.count}x{extent.size_bytes}" + (f"@{extent.end_bytes}" if extent.end_bytes else "")
        for extent in rule.layout.stripes
    )
    return f"{rule.where} {extents}{' over' if rule.layout.overstriped else ''}"


def _facts(system: FileSystem) -> StorageFacts:
    return StorageFacts(
        targets=system.targets, metadata_servers=system.metadata_servers, limits=system.layout_limits
    )


def _by_writers(files: Sequence[FileTotal]) -> tuple[list[FileTotal], list[FileTotal]]:
    """Return files with several writers and files with one; a kind with few bytes is added to the other."""
    shared, alone = [file for file in files if file.ranks > 1], [file for file in files if file.ranks == 1]
    total = sum(file.bytes_written for file in files)
    for few, many in ((shared, alone), (alone, shared)):
        if many and sum(file.bytes_written for file in few) < _WORTH * total:
            few.clear()
    return shared, alone


def _candidates(files: Sequence[FileTotal], system: FileSystem) -> list[FileLayout]:
    """Return layouts for files of one kind, the most promising first."""
    if not files:
        return []
    targets = system.targets or 0
    sizes = _stripe_sizes(files, system)
    counts = list(dict.fromkeys(_counts(files, targets)))
    plain = [FileLayout((Stripes(count, size),)) for size in sizes for count in counts[:2]]
    layouts = plain[:4]
    largest = max(file.bytes_written for file in files)
    if min(file.bytes_written for file in files) < _SMALL_FILE < largest and system.kind in BY_THE_RUNTIME:
        layouts.append(FileLayout((Stripes(1, MIB, _SMALL_FILE), Stripes(ALL_TARGETS, sizes[0]))))
    writers = max(file.ranks for file in files)
    if targets and writers >= 2 * targets and system.kind in BY_THE_RUNTIME:
        layouts.append(FileLayout((Stripes(2 * targets, sizes[0]),), overstriped=True))
    servers = system.metadata_servers or 1
    if servers > 1 and len(files) >= _MANY_FILES:
        layouts.append(FileLayout((Stripes(1, MIB),), directory_stripes=servers))
    return [*layouts, *(FileLayout((Stripes(count, MIB),)) for count in counts[2:])]


def _counts(files: Sequence[FileTotal], targets: int) -> Iterator[int]:
    writers, nodes = max(file.ranks for file in files), max(max(file.nodes, 1) for file in files)
    if writers == 1:
        if 1 < len(files) <= targets // 2:
            yield targets // len(files)
        yield 1
        if len(files) < (targets or 2):
            yield ALL_TARGETS
        return
    yield ALL_TARGETS
    if targets:
        yield from (
            count for count in (t3pio_stripes(nodes, targets), min(writers, targets)) if count < targets
        )
        yield from (count for count in (targets // 2,) if count > 1)
    yield 1


def t3pio_stripes(nodes: int, targets: int) -> int:
    """Return the stripe count of t3pio: all targets, or the largest multiple of the nodes that fits."""
    return targets if nodes >= targets else nodes * (targets // nodes)


def _stripe_sizes(files: Sequence[FileTotal], system: FileSystem) -> list[int]:
    """Return 1 MiB, the size of a write, and 4 MiB; rounded to multiples of the stripe unit."""
    unit = max(64 << 10, system.layout_limits.stripe_unit_bytes)
    access = max(file.largest for file in files)
    fitting = min(_LARGEST_STRIPE, -(-access // unit) * unit)
    fitting = fitting if fitting >= MIB else MIB
    if fitting & (fitting - 1) and system.kind != "lustre":
        fitting = 1 << fitting.bit_length()
    return list(dict.fromkeys((MIB, fitting, 4 * MIB)))


def _rules(
    shared: Sequence[FileTotal],
    alone: Sequence[FileTotal],
    of_shared: FileLayout | None,
    of_alone: FileLayout | None,
) -> list[LayoutRule]:
    """Return rules by directory, or by name if a directory contains both kinds; empty if inexpressible."""
    kinds: list[tuple[Sequence[FileTotal], FileLayout | None]]
    kinds = [(files, layout) for files, layout in ((shared, of_shared), (alone, of_alone)) if layout]
    directories = [{directory_of(file) for file in files} for files, _ in kinds]
    if len(kinds) == 2 and directories[0] & directories[1]:
        if of_shared == of_alone:
            kinds, directories = [([*shared, *alone], of_shared)], [directories[0] | directories[1]]
        else:
            patterns = [patterns_of(shared, alone), patterns_of(alone, shared)]
            if None in patterns or any(layout.directory_stripes for _, layout in kinds if layout):
                return []
            return [
                LayoutRule(pattern, layout, is_pattern=True)
                for kind_patterns, (_, layout) in zip(patterns, kinds, strict=True)
                for pattern in kind_patterns or ()
                if layout
            ]
    if not all(is_plain_directory(path) for paths in directories for path in paths):
        return []
    return [
        LayoutRule(path, layout)
        for paths, (_, layout) in zip(directories, kinds, strict=True)
        for path in sorted(paths)
        if layout
    ]
