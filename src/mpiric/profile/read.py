"""Reader of records, also of their parts. Sizes are checked before memory is allocated.

Parts are merged into one file, as the ranks do it in ``MPI_Finalize``, for runs whose ranks could not:
programs with sessions only, scripts, ranks that died. A run that was ended from outside has the time of its
end and the states of its processes in a file of their own.
"""

import os
import struct
from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

from mpiric.host.files import (
    LARGEST_TEXT_BYTES,
    exists,
    is_directory,
    is_file,
    open_and_read,
    read_bounded,
    require_readable,
)
from mpiric.host.owned_files import open_new
from mpiric.model.errors import ExitCode, MpiricError, NotFoundError
from mpiric.model.json_text import parse_json
from mpiric.model.quoting import one_line
from mpiric.model.record import CallCell, OpenCall, ProcessState, RankRecord, RankState, Record
from mpiric.profile import layout
from mpiric.profile.calls import read_call
from mpiric.profile.cells import fact
from mpiric.profile.image import (
    MOST_IMAGE_BYTES,
    MOST_NAMES_BYTES,
    MOST_RANKS,
    read_head,
    read_image,
    read_names,
    tick_s,
)

ENDED = "ended.json"  # file in the directory of a record, for a run that was ended from outside
_MOST_BYTES = 1 << 40  # only one rank is in memory at a time


class RecordError(MpiricError):
    """Damaged or truncated record, or a version that this mpiric does not know."""

    exit_code = ExitCode.USAGE


def _damaged(path: Path, problem: str) -> RecordError:
    return RecordError(f"{path} is not a usable record: {problem}", hint="profile the program again")


def _read_merged(path: Path, file: BinaryIO, length: int) -> Record:
    magic, version, world_size, size, index, names, names_bytes = layout.MERGED_HEAD.unpack(
        file.read(layout.MERGED_HEAD.size)
    )
    if magic != layout.RECORD_MAGIC:
        raise _damaged(path, "it does not begin with the magic of records")
    if version not in layout.LAYOUTS:
        raise _damaged(path, f"its format is version {version}, this mpiric reads up to {layout.VERSION}")
    if size != length:
        raise _damaged(path, f"it has {length} bytes instead of {size}")
    if not 0 < world_size <= MOST_RANKS or not layout.MERGED_HEAD.size <= index <= names:
        raise _damaged(path, "its head is inconsistent")
    entries, remainder = divmod(names - index, layout.MERGED_ENTRY.size)
    has_index = names + names_bytes == size and not remainder and entries <= world_size
    if not has_index or names_bytes > MOST_NAMES_BYTES:
        raise _damaged(path, "its index does not fit")
    file.seek(index)
    places = list(layout.MERGED_ENTRY.iter_unpack(file.read(names - index)))
    functions = read_names(file.read(names_bytes))
    if sum(image_bytes for _, image_bytes, _, _ in places) > index - layout.MERGED_HEAD.size:
        raise _damaged(path, "the data of its ranks overlap")
    ranks = []
    for offset, image_bytes, checksum, rank in places:
        if not layout.MERGED_HEAD.size <= offset <= offset + image_bytes <= index:
            raise _damaged(path, f"the data of rank {rank} is outside the file")
        if image_bytes > MOST_IMAGE_BYTES:
            raise _damaged(path, f"the data of rank {rank} is too long")
        file.seek(offset)
        image = file.read(image_bytes)
        if crc32(image) != checksum:
            raise _damaged(path, f"the data of rank {rank} has changed since it was written")
        ranks.append(_rank(path, memoryview(image), functions))
    if [use.rank for use in ranks] != sorted({use.rank for use in ranks}):
        raise _damaged(path, "a rank is in it twice or out of order")
    return Record(world_size, dict(functions), tuple(ranks))


def _rank(path: Path, image: memoryview, functions: list[tuple[str, str]]) -> RankRecord:
    try:
        return read_image(image, functions)
    except ValueError as error:
        raise _damaged(path, str(error)) from None


def _read_part(path: Path, data: memoryview) -> Record:
    try:
        head = read_head(data)
        offset, used, _ = head.sections["names"]
        names = read_names(bytes(data[offset : offset + used]))
        return Record(head.world_size, dict(names), (_rank(path, data, names),))
    except ValueError as error:
        raise _damaged(path, str(error)) from None


def read_file(path: Path) -> Record:
    """Read a merged record or the part of one rank; only one rank is in memory at a time."""
    try:
        require_readable(path, "record", _MOST_BYTES, "use a directory written by `mpiric profile`")
        with path.open("rb") as file:
            length = os.fstat(file.fileno()).st_size
            magic = file.read(len(layout.IMAGE_MAGIC))
            file.seek(0)
            if magic != layout.IMAGE_MAGIC:
                return _read_merged(path, file, length)
            if length > MOST_IMAGE_BYTES:
                raise _damaged(path, "the data of a rank is too long")
            return _read_part(path, memoryview(file.read()))
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}") from None
    except struct.error:
        raise _damaged(path, "it is cut short") from None
    except ValueError as error:
        raise _damaged(path, str(error)) from None


def read_open_call(path: Path) -> OpenCall | None:
    """Return the MPI call that the rank of a part is in; much faster than reading all of the part."""
    try:
        data = memoryview(open_and_read(path, "record of a rank", MOST_IMAGE_BYTES))
        head = read_head(data)
        offset, used, _ = head.sections["names"]
        names = read_names(bytes(data[offset : offset + used]))
        return read_call(data, head, names, tick_s(head))[0]
    except (ValueError, struct.error) as error:
        raise _damaged(path, str(error)) from None


def _joined(parts: list[Record]) -> Record:
    """Join parts of a run; the latest part of a rank counts."""
    latest = {
        use.rank: use for part in sorted(parts, key=lambda p: p.ranks[0].begin_unix_s) for use in part.ranks
    }
    return Record(
        parts[0].world_size, parts[0].function_classes, tuple(latest[rank] for rank in sorted(latest))
    )


def _tried(path: Path) -> Record | RecordError:
    try:
        return read_file(path)
    except RecordError as error:
        return error


def _read_directory(path: Path) -> Record:
    merged = path / "record.mpiric"
    tried = [_tried(part) for part in sorted(path.glob("rank-*.part"))]
    parts = [part for part in tried if isinstance(part, Record)]  # a damaged part does not affect other ranks
    damaged = next((error for error in tried if isinstance(error, RecordError)), None)
    if is_file(merged):
        record = read_file(merged)
        jobs = {use.job for use in record.ranks}
        missing_parts = [
            part for part in parts if part.ranks[0].job in jobs and part.ranks[0].rank in record.missing
        ]
        return _joined([record, *missing_parts]) if missing_parts else record
    if damaged and not parts:
        raise damaged
    if not parts:
        raise NotFoundError(
            f"{path} contains no record",
            hint="check that the program uses MPI and that rank 0 ran on a host that sees this directory",
        )
    newest = max(parts, key=lambda part: part.ranks[0].begin_unix_s)
    return _joined([part for part in parts if part.ranks[0].job == newest.ranks[0].job])


def read_record(path: Path | str) -> Record:
    """Read a record: a directory written by `mpiric profile`, a merged file, or the part of one rank.

    Raises ``RecordError`` for a damaged record and ``NotFoundError`` for a missing one.
    """
    path = Path(path)
    return with_end(_read_directory(path), path) if is_directory(path) else read_file(path)


MERGED = "record.mpiric"


def merge_parts(directory: Path) -> bool:
    """Merge the parts of the newest run in a directory and remove them; return whether that was possible.

    Nothing is done if there is a merged file, a damaged part or too little space: parts are a valid record.
    """
    paths = sorted(directory.glob("rank-*.part"))
    if not paths or exists(directory / MERGED):
        return False
    try:
        # The parts of the newest run, one per rank, in order of rank.
        ranks = sorted(
            ((read_file(path).ranks[0], path) for path in paths),
            key=lambda part: (part[0].rank, part[0].begin_unix_s),
        )
        newest = max(ranks, key=lambda part: part[0].begin_unix_s)[0]
        of_run = [part for part in ranks if part[0].job == newest.job]
        parts = [list(same)[-1][1] for _, same in groupby(of_run, key=lambda part: part[0].rank)]
        names = _names(_image(parts[0]))
        if any(_names(_image(part)) != names for part in parts):
            return False
        _write(directory, parts, names)
        for part in parts:
            part.unlink()
    except (MpiricError, OSError, ValueError):
        return False
    return True


def _image(path: Path) -> bytes:
    return open_and_read(path, "record of a rank", MOST_IMAGE_BYTES)


def _names(data: bytes) -> bytes:
    offset, used, _ = read_head(memoryview(data)).sections["names"]
    return data[offset : offset + used]


def _compact(data: bytes) -> bytes:
    """Return an image without unused space and without names."""
    head = read_head(memoryview(data))
    form = layout.LAYOUTS[head.version]
    table, body = bytearray(), bytearray()
    start = form.image.size + len(form.sections) * layout.SECTION_ENTRY.size
    for name, stride in form.strides.items():
        offset, used, lost = head.sections[name]
        # As the ranks do it: names are stored once, times of calls only for rank 0.
        if name == "names" or (name == "pace_times" and head.world_rank != 0):
            used = 0
        table += layout.SECTION_ENTRY.pack(start + len(body), stride, used, used, lost)
        body += data[offset : offset + stride * used]
        body += bytes(-len(body) % 8)
    fields = list(form.image.unpack_from(data))
    fields[3] = start + len(body)  # bytes of the image
    return form.image.pack(*fields) + table + body


def _write(directory: Path, parts: list[Path], names: bytes) -> None:
    """Write to a temporary name first, so that the file appears complete."""
    head = read_head(memoryview(_image(parts[0])))
    temporary = directory / f"merging.{os.getpid()}"
    index = bytearray()
    descriptor = open_new(temporary, 0o666)  # a file that has this name already stays
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(bytes(layout.MERGED_HEAD.size))
            for part in parts:
                data = _image(part)
                image = _compact(data)
                rank = read_head(memoryview(data)).world_rank
                index += layout.MERGED_ENTRY.pack(file.tell(), len(image), crc32(image), rank)
                file.write(image)
            index_at = file.tell()
            names_at = index_at + len(index)
            file.write(index + names)
            head_fields = (head.version, head.world_size, file.tell(), index_at, names_at, len(names))
            file.seek(0)
            file.write(layout.MERGED_HEAD.pack(layout.RECORD_MAGIC, *head_fields))
        temporary.rename(directory / MERGED)
    finally:
        temporary.unlink(missing_ok=True)


def with_end(record: Record, directory: Path) -> Record:
    """Add the end of the run and the states of its processes, if the run was ended from outside.

    A rank that has not finalized ran up to this time. Its call in flight counts up to then.
    """
    unix_s, states = states_at_end(directory)
    if not unix_s:
        return record
    ranks = tuple(_ended(rank, unix_s, states.get(str(rank.rank))) for rank in record.ranks)
    unrecorded = {rank: states[str(rank)] for rank in record.missing if str(rank) in states}
    return replace(record, ranks=ranks, ended_unix_s=unix_s, unrecorded=unrecorded)


def states_at_end(directory: Path) -> tuple[float, dict[str, ProcessState]]:
    """Return the time when a run was ended, 0 if it was not, and the states of its processes.

    Keys are numbers of ranks, or names of launchers that had not started any.
    """
    path = directory / ENDED
    try:
        data = parse_json(read_bounded(path, "end of a run", LARGEST_TEXT_BYTES)) if is_file(path) else {}
        states = {one_line(str(key)): _state(value) for key, value in dict(data["processes"]).items()}
        return float(data["unix_s"]), states
    except (AttributeError, KeyError, TypeError, ValueError, MpiricError):
        return 0.0, {}


def _state(data: Mapping[str, Any]) -> ProcessState:
    def text(name: str) -> str:
        return one_line(str(data.get(name, "")))

    return ProcessState(
        text("state"),
        text("system_call"),
        text("file"),
        text("place"),
        tuple(one_line(str(call)) for call in data.get("calls", ())),
        text("connects_to"),
        float(data.get("user_s", 0.0)),
        float(data.get("system_s", 0.0)),
        int(data.get("involuntary_switches", 0)),
    )


def _ended(rank: RankRecord, unix_s: float, process: ProcessState | None) -> RankRecord:
    if process and process.reads_standard_input and rank.left_unix_s > unix_s:
        # The launcher closed the input when it was ended, so that the rank went on.
        rank = replace(rank, state=RankState.RUNNING, call=None, left_unix_s=rank.begin_unix_s, wall_s=0.0)
    if rank.state is not RankState.RUNNING or unix_s < rank.begin_unix_s:
        return replace(rank, process=process)
    call, cells = rank.call, rank.cells
    if call is not None and call.entered_unix_s < unix_s:
        lasted_s, histogram = unix_s - call.entered_unix_s, (0,) * layout.TIME_BINS
        cells += (
            CallCell(
                call.function, call.communicator, 0, 0, 1, 0, 1, lasted_s, lasted_s, lasted_s, 0.0, histogram
            ),
        )
    return replace(
        rank,
        process=process,
        cells=cells,
        wall_s=max(rank.wall_s, unix_s - rank.begin_unix_s),
        facts=_with_usage(rank, process) if process else rank.facts,
    )


def _with_usage(rank: RankRecord, process: ProcessState) -> Mapping[str, str]:
    """Return the facts with the CPU time up to the end: a rank outside MPI did not write it any more."""
    facts = dict(rank.facts)
    for kind, total_s in (("user", process.user_s), ("system", process.system_s)):
        since_init_us = int(1e6 * total_s) - fact(rank, f"before.{kind}_us")
        facts[f"time.{kind}_us"] = str(max(since_init_us, fact(rank, f"time.{kind}_us")))
    switches = max(process.involuntary_switches, fact(rank, "switches.involuntary"))
    return facts | {"switches.involuntary": str(switches)}
