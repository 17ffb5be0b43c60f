"""Reader of marks files. Sizes are checked before memory is allocated."""

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple

from mpiric.host.files import open_and_read
from mpiric.model.errors import ExitCode, MpiricError, NotFoundError
from mpiric.model.pace import Crossing, MarkKey, MarksState, PlaceResults, RankMarks, RunMarks
from mpiric.profile import marks_layout as layout
from mpiric.profile.image import MOST_RANKS

_FILES = "rank-*.marks"
_TABLES = (
    (layout.MARK_COMMUNICATOR, layout.COMMUNICATOR_COUNT),
    (layout.MODULE, layout.MODULE_COUNT),
    (layout.RESULT, layout.RESULT_COUNT),
)
_FULL_SIZE = layout.HEAD.size + sum(entry.size * room for entry, room in _TABLES)
_CODES = {  # kind → width in bytes → code of Python's struct
    "floating": {4: "f", 8: "d"},
    "signed_integer": {1: "b", 2: "h", 4: "i", 8: "q"},
    "unsigned_integer": {1: "B", 2: "H", 4: "I", 8: "Q"},
}


class MarksError(MpiricError):
    """Damaged or truncated marks file, or a version that this mpiric does not know."""

    exit_code = ExitCode.USAGE


class _Head(NamedTuple):
    """Head of a marks file; groups of numbers that belong together are one field."""

    state: str
    bytes: int
    rank: int
    world_size: int
    flags: int
    job: int
    begin_unix_ns: int
    init_entered_ns: int
    init_left_ns: int
    finalize_entered_ns: int
    at_first: tuple[int, ...]
    at_last: tuple[int, ...]
    calls: int
    stride: int
    times_ns: tuple[int, ...]
    used: tuple[int, int, int]
    lost: int
    mark: str


def read_marks(directory: Path) -> RunMarks:
    """Read the marks of the newest run in a directory.

    Raises ``MarksError`` for a damaged file and ``NotFoundError`` if there is none.
    """
    files = [_read_file(path) for path in sorted(directory.glob(_FILES))]
    if not files:
        raise NotFoundError(
            f"no rank wrote marks into {directory}",
            hint="check that the program uses MPI and that all hosts see this directory",
        )
    newest = max(files, key=lambda pair: pair[1].begin_unix_s)[0]
    latest = {
        marks.rank: marks
        for head, marks in sorted(files, key=lambda pair: pair[1].begin_unix_s)
        if head.job == newest.job
    }
    ranks = tuple(latest[rank] for rank in sorted(latest))
    return RunMarks(newest.world_size, newest.mark, ranks, len({head.job for head, _ in files}))


def read_first_rank(directory: Path) -> RankMarks | None:
    """Read rank 0 of a run that may still be active; None without readable marks."""
    marks_of_runs = []
    for path in directory.glob("rank-0.*.marks"):
        with suppress(MpiricError):
            marks_of_runs.append(_read_file(path)[1])
    return max(marks_of_runs, key=lambda marks: marks.begin_unix_s, default=None)


def _read_file(path: Path) -> tuple[_Head, RankMarks]:
    try:
        data = memoryview(open_and_read(path, "marks file", _FULL_SIZE))
        head = _head(data)
        return head, _rank(data, head)
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}") from None
    except struct.error:
        raise _damaged(path, "it is cut short") from None
    except ValueError as error:
        raise _damaged(path, str(error)) from None


def _damaged(path: Path, problem: str) -> MarksError:
    return MarksError(f"{path} is not a usable marks file: {problem}", hint="run the program again")


def _head(data: memoryview) -> _Head:
    numbers: list[Any] = list(layout.HEAD.unpack_from(data))
    magic, version, state, size, rank, world, flags, _, job = numbers[:9]
    if magic != layout.FILE_MAGIC:
        raise ValueError("it does not begin with the magic of marks files")
    if version != layout.VERSION:
        raise ValueError(f"its format is version {version}, this mpiric reads {layout.VERSION}")
    if size != len(data) or size not in (layout.HEAD.size, _FULL_SIZE):
        raise ValueError(f"it has {len(data)} bytes instead of {size}")
    if not 0 <= rank < world <= MOST_RANKS or state not in layout.STATES:
        raise ValueError("its head is inconsistent")
    begin_unix, init_entered, init_left, finalize_entered, _, _ = numbers[9:15]
    at_first, at_last, _ = tuple(numbers[15:20]), tuple(numbers[20:25]), numbers[25:29]
    calls, _, stride, timed = numbers[29:33]
    times = tuple(numbers[33 : 33 + layout.TIME_COUNT])
    *used, lost, mark = numbers[33 + layout.TIME_COUNT :]
    if size == layout.HEAD.size:
        used = [0, 0, 0]
    if timed > layout.TIME_COUNT or any(rows > room for rows, (_, room) in zip(used, _TABLES, strict=True)):
        raise ValueError("its head is inconsistent")
    return _Head(
        layout.STATES[state], size, rank, world, flags, job, begin_unix, init_entered, init_left,
        finalize_entered, at_first, at_last, calls, stride, times[:timed], (used[0], used[1], used[2]), lost,
        _text(mark),
    )  # fmt: skip


def _text(raw: bytes) -> str:
    text = raw.split(b"\0", 1)[0].decode("utf-8", "replace")
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


def _rank(data: memoryview, head: _Head) -> RankMarks:
    def since_init(ns: int) -> float:
        return (ns - head.init_left_ns) / 1e9

    def crossing(ns: int, *counts: int) -> Crossing | None:
        calls, moved = counts[0] + counts[2], counts[1] + counts[3]
        return Crossing(since_init(ns), calls, moved) if ns else None

    return RankMarks(
        rank=head.rank,
        state=MarksState(head.state),
        flags=frozenset(name for bit, name in layout.FLAGS.items() if head.flags & bit),
        begin_unix_s=head.begin_unix_ns / 1e9,
        init_s=(head.init_left_ns - head.init_entered_ns) / 1e9,
        first=crossing(*head.at_first),
        last=crossing(*head.at_last),
        finalize_s=since_init(head.finalize_entered_ns) if head.finalize_entered_ns else None,
        calls=head.calls,
        stride=max(1, head.stride),
        times_s=tuple(since_init(ns) for ns in head.times_ns),
        results=tuple(_results(data, head)),
        lost=head.lost,
    )


def _rows(data: memoryview, table: int, count: int) -> Iterator[tuple[Any, ...]]:
    begin = layout.HEAD.size + sum(entry.size * room for entry, room in _TABLES[:table])
    entry: Struct = _TABLES[table][0]
    return entry.iter_unpack(data[begin : begin + entry.size * count])


def _results(data: memoryview, head: _Head) -> Iterator[PlaceResults]:
    if not head.used[2]:
        return
    # The last row represents communicators without a row.
    communicators = list(_rows(data, 0, layout.COMMUNICATOR_COUNT))
    modules = [_text(name) for (name,) in _rows(data, 1, head.used[1])]
    for offset, module, communicator, function, results, digest, kind, width, size, _, last in _rows(
        data, 2, head.used[2]
    ):
        if module >= len(modules) or communicator >= len(communicators) or kind not in layout.KINDS:
            raise ValueError(f"a result of rank {head.rank} refers to an unknown module or communicator")
        place = f"{modules[module]}+{offset:#x}" if modules[module] else ""
        key = MarkKey(_text(function), place, *communicators[communicator])
        code = _CODES.get(layout.KINDS[kind], {}).get(width, "")
        count = min(size, len(last)) // width if code else 0
        yield PlaceResults(key, results, digest, struct.unpack_from(f"<{count}{code}", last) if count else ())
