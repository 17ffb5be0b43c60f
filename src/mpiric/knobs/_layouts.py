"""Candidate layouts of files and hints for MPI-IO, derived from the writers, and their settings.

Layouts: one target per writer, k per node (t3pio: McLay, James, Liu and Barth, XSEDE12), or all targets. If
each rank writes its own file: one target, or an equal share of all. The stripe size is the size of a write.

Hints: collective buffering, number of aggregators, buffer sizes. ROMIO's hints are described in its user's
guide, OMPIO's in Open MPI's documentation, "MPI IO".
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import ceil

from mpiric.knobs._outputs import (
    directory_of,
    is_served_as_nfs,
    missing_locks,
    output_system,
    outputs,
    own_driver,
    patterns_of,
)
from mpiric.model.amount import size
from mpiric.model.job import Spelling
from mpiric.model.knob import Skip, Try
from mpiric.model.machine import FileSystem
from mpiric.model.profile import FileTotal
from mpiric.model.situation import Situation
from mpiric.model.storage import (
    ALL_TARGETS,
    HERE,
    FileLayout,
    LayoutRule,
    StorageFacts,
    Stripes,
    is_plain_directory,
    parse_hints,
    parse_layouts,
    write_layouts,
)
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


_BUFFER, _OMPIO_BUFFERS = 64 * MIB, (4 * MIB, 128 * MIB)  # defaults are 16 and 32 MiB


def consider_hints(situation: Situation) -> Skip | Try:
    """Return combinations of hints, the most promising first."""
    if reason := no_calls(situation):
        return Skip(reason)
    ompio = situation.mpi.capabilities.mpi_io == "ompio"
    hints = dict.fromkeys(_ompio(situation) if ompio else _romio(situation))
    values = tuple(value for value in hints if not why_hints_not_set(value, situation))[:_MOST_VALUES]
    system = output_system(situation)
    if system is not None and system.is_network:
        because = "files on a network file system go through MPI: which ranks access them decides"
        return Try(values, 0.6, because)
    return Try(values, 0.2, "files are accessed through MPI")


def no_calls(situation: Situation) -> str:
    """Return why hints have no effect on the program, "" if it is known to open files through MPI."""
    if not situation.mpi.capabilities.mpi_io:
        return "it is not known which hints the library obeys"
    if situation.observation.behaviour is not None:
        return "no file is read or written through MPI" if _calls(situation) == (0, 0) else ""
    does_io = any(name.startswith("mpi_file_") for name in situation.observation.mpi_calls)
    return "" if does_io else "the ranks are not seen to do MPI-IO"


def why_hints_not_set(value: str, situation: Situation) -> str:
    """Return why hints cannot be used on the job's file system, "" if they can.

    For writes with gaps ROMIO locks a range, reads it and writes it again (data sieving). It aborts without
    locks, and the data are wrong if locks are valid on one node only. Its NFS driver makes each rank
    truncate the file (ad_nfs_resize.c); other drivers use one rank and a barrier.
    """
    rules = parse_hints(value)
    each_alone = any(rule.each_alone for rule in rules)
    cuts = situation.observation.can_call("file_set_size") and is_served_as_nfs(situation)
    if each_alone and cuts and not own_driver(situation):  # the driver is selected together with such hints
        return (
            "MPI_File_set_size cuts a file on every rank under the driver for NFS, which takes what others "
            "have written by then away: only collective buffering has them wait for each other"
        )
    system = output_system(situation)
    missing = missing_locks(system, situation) if system else ""
    if system is None or not missing:
        return ""
    for rule in rules:
        sieving = rule.hints.get("romio_ds_write")
        if (rule.each_alone and sieving != "disable") or sieving == "enable":
            return f"data sieving needs locks, and {system.mount_point} is mounted with {missing}"
    return ""


def _calls(situation: Situation) -> tuple[float, float]:
    """Return collective and independent reads and writes through MPI; both are assumed without a record."""
    behaviour = situation.observation.behaviour
    if behaviour is None:
        return 1, 1
    numbers = behaviour.numbers
    return numbers.get("collective_file_calls", 0), numbers.get("independent_file_calls", 0)


def _aggregators(situation: Situation) -> list[int]:
    """Return candidate numbers of aggregators, without the default of one per node."""
    system, nodes, ranks = output_system(situation), max(1, situation.nodes), situation.rank_count
    targets = (system.targets if system else None) or nodes
    candidates = (nodes * 2, min(targets, ranks), ranks, ceil(nodes / 2))
    return [count for count in dict.fromkeys(candidates) if 1 <= count <= ranks and count != nodes]


def _romio(situation: Situation) -> Iterator[str]:
    collective, independent = _calls(situation)
    if collective:
        yield "romio_cb_read=enable,romio_cb_write=enable"
        yield "romio_cb_read=disable,romio_cb_write=disable"
        for count in _aggregators(situation)[:2]:
            per_node = ceil(count / max(1, situation.nodes))  # spread over the nodes
            yield f"cb_config_list=*:{per_node},cb_nodes={count},romio_cb_read=enable,romio_cb_write=enable"
        yield f"cb_buffer_size={_BUFFER},romio_cb_read=enable,romio_cb_write=enable"
    if independent:
        yield "romio_ds_read=disable,romio_ds_write=disable"
        yield f"ind_rd_buffer_size={16 * MIB},ind_wr_buffer_size={16 * MIB}"


def _ompio(situation: Situation) -> Iterator[str]:
    collective, _ = _calls(situation)
    if collective:
        nodes = max(1, situation.nodes)
        for count in dict.fromkeys((nodes, *_aggregators(situation))):
            yield f"cb_nodes={count}"
        for size in _OMPIO_BUFFERS:
            yield f"cb_buffer_size={size}"
