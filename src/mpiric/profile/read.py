"""Reader of records. Sizes are checked before memory is allocated."""

import os
import struct
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

from mpiric.host.files import is_directory, is_file, open_and_read, require_readable
from mpiric.model.errors import ExitCode, MpiricError, NotFoundError
from mpiric.model.record import OpenCall, RankRecord, Record
from mpiric.profile import image_head, layout
from mpiric.profile.calls import read_call
from mpiric.profile.ended import with_end
from mpiric.profile.image import read_head, read_image, read_names, tick_s

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
    if not 0 < world_size <= image_head.MOST_RANKS or not layout.MERGED_HEAD.size <= index <= names:
        raise _damaged(path, "its head is inconsistent")
    entries, remainder = divmod(names - index, layout.MERGED_ENTRY.size)
    has_index = names + names_bytes == size and not remainder and entries <= world_size
    if not has_index or names_bytes > image_head.MOST_NAMES_BYTES:
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
        if image_bytes > image_head.MOST_IMAGE_BYTES:
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
            if length > image_head.MOST_IMAGE_BYTES:
                raise _damaged(path, "the data of a rank is too long")
            return _read_part(path, memoryview(file.read()))
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}") from None
    except struct.error:
        raise _damaged(path, "it is cut short") from None
    except ValueError as error:
        raise _damaged(path, str(error)) from None


def read_open_call(path: Path) -> tuple[int, OpenCall | None]:
    """Return the rank of a part and the MPI call that it is in; much faster than reading all of the part."""
    try:
        data = memoryview(open_and_read(path, "record of a rank", image_head.MOST_IMAGE_BYTES))
        head = read_head(data)
        offset, used, _ = head.sections["names"]
        names = read_names(bytes(data[offset : offset + used]))
        return head.world_rank, read_call(data, head, names, tick_s(head))[0]
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
