"""Reader of one rank's image, the tables of the rank's memory. Raises ``ValueError`` for invalid data."""

from array import array
from collections.abc import Iterator
from struct import Struct
from typing import Any

from mpiric.model.pace import KeyPace
from mpiric.model.record import (
    CallCell,
    CallSite,
    CommunicatorRow,
    FileDetail,
    FileUse,
    Peer,
    RankRecord,
    RankState,
    ReceiveTiming,
    Region,
    Timeline,
    TrafficKind,
)
from mpiric.profile import layout
from mpiric.profile.calls import ImageHead, read_call
from mpiric.profile.pace import read_pace

# Names of the usage numbers of the head: facts in version 1, numbers since; the allocator's are facts before
# version 5.
USAGE = (
    "time.user_us",
    "time.system_us",
    "faults.minor",
    "faults.major",
    "switches.voluntary",
    "switches.involuntary",
    "memory.peak_kib",
    "allocator.calls",
    "allocator.large_calls",
    "allocator.us",
)
UNKNOWN = (1 << 64) - 1

# Upper limits: larger numbers mean damage and must not be allocated.
MOST_RANKS = 1 << 24
MOST_IMAGE_BYTES, MOST_NAMES_BYTES = 1 << 24, 1 << 20


_STATES = {1: RankState.RUNNING, 2: RankState.FINALIZED, 3: RankState.STOPPED, 4: RankState.ABORTED}
_KINDS = (TrafficKind.MESSAGE, TrafficKind.PUT, TrafficKind.GET)
_INTERFACES = ("posix", "mpi-io", "stream")
_NO_COMMUNICATOR = 0xFFFF

Names = list[tuple[str, str]]


def _printable_text(raw: bytes) -> str:
    """Decode text and replace control characters, which a terminal would interpret."""
    text = raw.decode("utf-8", "replace").replace("\t", " ")
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


def _text(raw: bytes) -> str:
    return _printable_text(raw.split(b"\0", 1)[0])


def read_names(raw: bytes) -> Names:
    """Return name and class of each function, in order of their numbers."""
    names = [tuple(_printable_text(line).split(" ")) for line in raw.splitlines()]
    if not names or any(len(pair) != 2 for pair in names):
        raise ValueError("its list of functions is damaged")
    return [(pair[0], pair[1]) for pair in names]


def read_head(image: memoryview) -> ImageHead:
    """Read the head of an image and check it against the size of the image."""
    magic, version = layout.START.unpack_from(image)
    if magic != layout.IMAGE_MAGIC or version not in layout.LAYOUTS:
        raise ValueError("the head of a rank's data is invalid")
    form = layout.LAYOUTS[version]
    _, _, sections, size, rank, world, state, level, *numbers = form.image.unpack_from(image)
    if sections != len(form.sections):
        raise ValueError("the head of a rank's data is invalid")
    if not 0 <= rank < world <= MOST_RANKS or size > len(image) or state not in _STATES:
        raise ValueError(f"the head of rank {rank} is inconsistent")
    tables = {}
    for position, (name, expected) in enumerate(form.strides.items()):
        at = form.image.size + position * layout.SECTION_ENTRY.size
        offset, stride, capacity, used, lost = layout.SECTION_ENTRY.unpack_from(image, at)
        if stride != expected or used > capacity or offset + stride * used > size:
            raise ValueError(f"the {name} of rank {rank} exceed its data")
        tables[name] = (offset, used, lost)
    job, unix, begin_ticks, begin_ns, latest_ticks, latest_ns, *receives = numbers
    return ImageHead(
        version, size, rank, world, state, level, job, unix, begin_ticks, begin_ns, latest_ticks, latest_ns,
        (receives[0], receives[1], receives[2], receives[3]), receives[4] if version > 1 else 0,
        tuple(receives[5:15]), tuple(receives[15:]), tables,
    )  # fmt: skip


def _rows(image: memoryview, head: ImageHead, name: str, entry: Struct) -> Iterator[tuple[Any, ...]]:
    offset, used, _ = head.sections[name]
    return entry.iter_unpack(image[offset : offset + used * entry.size])


def tick_s(head: ImageHead) -> float:
    """Return the seconds per tick by the two clock pairs; 0 for a rank that died before the second pair."""
    ticks, nanoseconds = head.latest_ticks - head.begin_ticks, head.latest_ns - head.begin_ns
    return nanoseconds / ticks / 1e9 if ticks > 0 and nanoseconds > 0 else 0.0


def _name(names: Names, number: int) -> str:
    if number >= len(names):
        raise ValueError(f"a call refers to function {number} of {len(names)}")
    return names[number][0]


def _cells(image: memoryview, head: ImageHead, names: Names, tick: float) -> Iterator[CallCell]:
    communicators, regions = head.sections["communicators"][1], head.sections["regions"][1]
    for key, calls, moved, timed, ticks, shortest, longest, waited, *histogram in _rows(
        image, head, "cells", layout.CELL
    ):
        communicator, region = key >> 16 & 0xFFFF, key >> 40 & 0xFF
        if (communicator >= communicators and communicator != _NO_COMMUNICATOR) or region >= regions:
            raise ValueError(f"a call of rank {head.world_rank} refers to an unknown communicator or region")
        yield CallCell(
            function=_name(names, key & 0xFFFF),
            communicator=None if communicator == _NO_COMMUNICATOR else communicator,
            region=region,
            size_bin=key >> 32 & 0xFF,
            calls=calls,
            bytes=moved,
            timed_calls=timed,
            timed_s=ticks * tick,
            shortest_s=shortest * tick if timed else 0.0,
            longest_s=longest * tick,
            waited_s=waited * tick,
            histogram=tuple(histogram),
        )


def _communicators(image: memoryview, head: ImageHead) -> Iterator[CommunicatorRow]:
    for *numbers, flags, name in _rows(image, head, "communicators", layout.COMMUNICATOR):
        kinds = [bool(flags & bit) for bit in (1, 2, 4)]
        yield CommunicatorRow(*[*numbers, *kinds, _text(name)])


def _peers(image: memoryview, head: ImageHead) -> Iterator[Peer]:
    for rank, kind, messages, moved in _rows(image, head, "peers", layout.PEER):
        if kind >= len(_KINDS) or not -1 <= rank < head.world_size:
            raise ValueError(f"rank {head.world_rank} sent to an unknown rank")
        yield Peer(None if rank < 0 else rank, _KINDS[kind], messages, moved)


def _files(image: memoryview, head: ImageHead, tick: float) -> Iterator[FileUse]:
    details = iter(read_details(image, head, tick))
    for *numbers, interface, processes, path in _rows(image, head, "files", layout.FILE):
        if interface >= len(_INTERFACES):
            raise ValueError(f"a file of rank {head.world_rank} has an unknown interface")
        seconds = [ticks * tick for ticks in numbers[5:8]]
        # The fields of FileUse have the same order as in the record.
        counters = [*numbers[8:], next(details, None)]
        yield FileUse(_text(path), _INTERFACES[interface], processes, *numbers[:5], *seconds, *counters)


def _sites(image: memoryview, head: ImageHead, names: Names, tick: float) -> Iterator[CallSite]:
    for address, function, calls, moved, timed, ticks in _rows(image, head, "sites", layout.SITE):
        yield CallSite(
            address, _name(names, function), calls, moved, ticks * tick * (calls / timed if timed else 0.0)
        )


def _timeline(image: memoryview, head: ImageHead, tick: float) -> Timeline:
    """Read the timeline; activities of concurrent threads and sampled calls are scaled to fit into a span."""
    if not head.sections.get("spans", (0, 0, 0))[1]:
        return Timeline(0.0)
    span_s = head.span_ticks * tick
    columns = (array("d"), array("d"), array("d"), array("d"))
    region = array("B")
    for *ticks, _, at in _rows(image, head, "spans", layout.SPAN):
        if at >= min(256, head.sections["regions"][1]):
            raise ValueError(f"rank {head.world_rank} was in an unknown region")
        whole_s = sum(ticks) * tick
        scale = tick * min(1.0, span_s / whole_s) if whole_s else 0.0
        for column, value in zip(columns, ticks, strict=True):
            column.append(value * scale)
        region.append(at)
    return Timeline(span_s, columns[0], columns[1], columns[2], columns[3], region)


def _reached_s(timeline: Timeline) -> float:
    """Return a lower bound of the time of the last event."""
    if not timeline.region:
        return 0.0
    columns = (timeline.point_to_point_s, timeline.collective_s, timeline.other_mpi_s, timeline.files_s)
    return (len(timeline.region) - 1) * timeline.span_s + sum(column[-1] for column in columns)


def _facts(image: memoryview, head: ImageHead) -> dict[str, str]:
    offset, used, _ = head.sections["facts"]
    lines = map(_printable_text, bytes(image[offset : offset + used]).split(b"\n"))
    return dict(line.split("=", 1) for line in lines if "=" in line)


def _pace(
    image: memoryview, head: ImageHead, names: Names, rows: tuple[CommunicatorRow, ...], tick: float
) -> Iterator[KeyPace]:
    if "pace" not in head.sections:
        return iter(())
    times_s = [
        [(ticks - head.begin_ticks) * tick for ticks in line]
        for line in _rows(image, head, "pace_times", layout.PACE_TIMES)
    ]
    return read_pace(
        list(_rows(image, head, "pace", layout.PACE)),
        times_s,
        [name for name, _ in names],
        rows,
        _facts(image, head),
        gathered=head.sections["communicators"][2] > 0,
    )


def read_image(image: memoryview, names: Names) -> RankRecord:
    """Read the record of a rank from its image."""
    head = read_head(image)
    tick = tick_s(head)
    timeline = _timeline(image, head, tick)
    # A rank that died has no final clock reading.
    rows = tuple(_communicators(image, head))
    reached_s = _reached_s(timeline) if _STATES[head.state] is RankState.RUNNING else 0.0
    call, left_unix_s, polls = read_call(image, head, names, tick)
    values = zip(USAGE, head.usage, strict=False)  # older versions have fewer
    return RankRecord(
        rank=head.world_rank,
        state=_STATES[head.state],
        job=head.job,
        begin_unix_s=head.begin_unix_ns / 1e9,
        wall_s=max(0.0, (head.latest_ns - head.begin_ns) / 1e9, reached_s),
        thread_level=head.thread_level,
        cells=tuple(_cells(image, head, names, tick)),
        communicators=rows,
        peers=tuple(_peers(image, head)),
        regions=tuple(
            Region(_text(name), entries, ticks * tick)
            for entries, ticks, _, name in _rows(image, head, "regions", layout.REGION)
        ),
        files=tuple(_files(image, head, tick)),
        sites=tuple(_sites(image, head, names, tick)),
        receives=ReceiveTiming(*head.receives),
        timeline=timeline,
        facts={name: str(value) for name, value in values if value != UNKNOWN} | _facts(image, head),
        lost={name: lost for name, (_, _, lost) in head.sections.items() if lost},
        pace=tuple(_pace(image, head, names, rows, tick)),
        call=call if _STATES[head.state] is RankState.RUNNING else None,
        left_unix_s=left_unix_s,
        polls=polls,
    )


_OPENED = ("read", "write", "create", "truncate", "append", "exclusive", "direct", "synchronous", "no-atime")


def read_details(image: memoryview, head: ImageHead, tick_s: float) -> Iterator[FileDetail]:
    """Yield the details of each file in file order."""
    if "file_details" not in head.sections:
        return
    offset, used, _ = head.sections["file_details"]
    if used != head.sections["files"][1]:
        raise ValueError(f"rank {head.world_rank} has different numbers of files and file details")
    rows = layout.FILE_DETAIL.iter_unpack(image[offset : offset + used * layout.FILE_DETAIL.size])
    for opened, creating, created, close, strided, first, end, largest, locks, lock, lines, flushes in rows:
        since_s = (created - head.begin_ticks) * tick_s if created else 0.0
        yield FileDetail(
            opened=frozenset(word for bit, word in enumerate(_OPENED) if opened >> bit & 1),
            creating=creating,
            created_unix_s=head.begin_unix_ns / 1e9 + since_s if created else 0.0,
            close_s=close * tick_s,
            strided=strided,
            first_byte=first,
            end_byte=end,
            largest=largest,
            locks=locks,
            lock_s=lock * tick_s,
            lines=lines,
            flushes=flushes,
        )
