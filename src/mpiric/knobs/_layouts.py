"""Layouts worth trying, from who writes which files, and how a layout is set.

One target per writer, k for each node (t3pio: McLay, James, Liu and Barth, XSEDE12), or all of them; where
every rank has a file of its own one, or its share of all; stripes as large as what is written at a time.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from mpiric.knobs._outputs import directory_of, output_system, outputs, patterns_of
from mpiric.model.amount import size
from mpiric.model.file_rules import HERE, LayoutRule, is_plain_directory, parse_layouts, write_layouts
from mpiric.model.knob import Skip, Try
from mpiric.model.machine import FileSystem
from mpiric.model.profile import FileTotal
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling
from mpiric.model.storage import ALL_TARGETS, FileLayout, StorageFacts, Stripes
from mpiric.storage import Storage, storages

MIB = 1 << 20
_LARGEST_STRIPE = 64 * MIB
_SMALL_FILE = 4 * MIB
_MANY_FILES = 1000  # of one directory
_WORTH = 0.1  # of the bytes, for a kind of files to have a layout of its own
_MOST_VALUES = 6
_LONGEST = 1500  # characters of a value
BY_THE_RUNTIME = ("lustre",)  # file systems on which the runtime can lay out single files


def consider(situation: Situation) -> Skip | Try:
    """Layouts of the files that the program makes, where the user may set them."""
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
        return Try(values, 0.9, f"{len(shared)} files of several ranks lie on one storage target each")
    return Try(values, 0.5, "files are made on a striped file system, in its default layout")


def _values(files: Sequence[FileTotal], system: FileSystem, storage: Storage) -> tuple[str, ...]:
    """Layouts of all output directories, or of kinds of files where one directory holds unlike files."""
    found = dict[str, None]()
    shared, alone = _by_writers(files)
    of_shared: list[FileLayout | None] = [*_candidates(shared, system)] or [None]
    of_alone: list[FileLayout | None] = [*_candidates(alone, system)] or [None]
    for layouts in product(of_shared, of_alone):
        rules = _rules(shared, alone, *layouts)
        sound = rules and not any(storage.check(rule.layout, _facts(system)) for rule in rules)
        if sound and any(rule.layout != system.default_layout for rule in rules):
            found[write_layouts(rules)] = None
    return tuple(value for value in found if len(value) < _LONGEST)[:_MOST_VALUES]


def why_not_set(value: str, situation: Situation) -> str:
    """Why a layout cannot be set where the job writes, "" where it can."""
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
            return situation.tuner.why_not or "no runtime is there for this MPI library"
    return ""


def settings(value: str, situation: Situation) -> Spelling | None:
    """Commands for directories, the runtime for kinds of files; None where neither can be."""
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
    """Write a rule as spec/options.toml has MPIRIC_FILE_LAYOUTS."""
    extents = ",".join(
        f"{each.count}x{each.size_bytes}" + (f"@{each.end_bytes}" if each.end_bytes else "")
        for each in rule.layout.stripes
    )
    return f"{rule.where} {extents}{' over' if rule.layout.overstriped else ''}"


def _facts(system: FileSystem) -> StorageFacts:
    return StorageFacts(
        targets=system.targets, metadata_servers=system.metadata_servers, limits=system.layout_limits
    )


def _by_writers(files: Sequence[FileTotal]) -> tuple[list[FileTotal], list[FileTotal]]:
    """Files of several ranks, and of one each; a kind with few of the bytes goes with the other."""
    shared, alone = [file for file in files if file.ranks > 1], [file for file in files if file.ranks == 1]
    total = sum(file.bytes_written for file in files)
    for few, many in ((shared, alone), (alone, shared)):
        if many and sum(file.bytes_written for file in few) < _WORTH * total:
            few.clear()
    return shared, alone


def _candidates(files: Sequence[FileTotal], system: FileSystem) -> list[FileLayout]:
    """Layouts for files of one kind, the most promising first."""
    if not files:
        return []
    targets = system.targets or 0
    sizes = _stripe_sizes(files, system)
    counts = list(dict.fromkeys(_counts(files, targets)))
    plain = [FileLayout((Stripes(count, size),)) for size in sizes for count in counts[:2]]
    found = plain[:4]
    largest = max(file.bytes_written for file in files)
    if min(file.bytes_written for file in files) < _SMALL_FILE < largest and system.kind in BY_THE_RUNTIME:
        found.append(FileLayout((Stripes(1, MIB, _SMALL_FILE), Stripes(ALL_TARGETS, sizes[0]))))
    writers = max(file.ranks for file in files)
    if targets and writers >= 2 * targets and system.kind in BY_THE_RUNTIME:
        found.append(FileLayout((Stripes(2 * targets, sizes[0]),), overstriped=True))
    servers = system.metadata_servers or 1
    if servers > 1 and len(files) >= _MANY_FILES:
        found.append(FileLayout((Stripes(1, MIB),), directory_stripes=servers))
    return [*found, *(FileLayout((Stripes(count, MIB),)) for count in counts[2:])]


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
    """The stripes of t3pio: all targets, or the largest multiple of the nodes that there are targets for."""
    return targets if nodes >= targets else nodes * (targets // nodes)


def _stripe_sizes(files: Sequence[FileTotal], system: FileSystem) -> list[int]:
    """1 MiB, as large as what is written at a time, and 4 MiB; multiples of the unit."""
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
    """Rules by directory, or by name where both kinds meet in one; empty where none can be written."""
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
                for found, (_, layout) in zip(patterns, kinds, strict=True)
                for pattern in found or ()
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
