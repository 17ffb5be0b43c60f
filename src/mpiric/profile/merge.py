"""Merge of the parts of a record into one file, as the ranks do it in ``MPI_Finalize``.

Used for runs whose ranks could not: programs with sessions only, scripts, ranks that died.
"""

import os
from itertools import groupby
from pathlib import Path
from zlib import crc32

from mpiric.host.files import exists, open_and_read
from mpiric.host.owned_files import open_new
from mpiric.model.errors import MpiricError
from mpiric.profile import layout
from mpiric.profile.image import read_head
from mpiric.profile.image_head import MOST_IMAGE_BYTES
from mpiric.profile.read import read_file

MERGED = "record.mpiric"


def merge_parts(directory: Path) -> bool:
    """Merge the parts of the newest run in a directory and remove them; return whether that was possible.

    Nothing is done if there is a merged file, a damaged part or too little space: parts are a valid record.
    """
    paths = sorted(directory.glob("rank-*.part"))
    if not paths or exists(directory / MERGED):
        return False
    try:
        parts = _parts_of_one_run(paths)
        names = _names(_image(parts[0]))
        if any(_names(_image(part)) != names for part in parts):
            return False
        _write(directory, parts, names)
        for part in parts:
            part.unlink()
    except (MpiricError, OSError, ValueError):
        return False
    return True


def _parts_of_one_run(paths: list[Path]) -> list[Path]:
    """Return the parts of the newest run, one per rank, in order of rank."""
    ranks = sorted(
        ((read_file(path).ranks[0], path) for path in paths),
        key=lambda part: (part[0].rank, part[0].begin_unix_s),
    )
    newest = max(ranks, key=lambda part: part[0].begin_unix_s)[0]
    of_run = [part for part in ranks if part[0].job == newest.job]
    return [list(same)[-1][1] for _, same in groupby(of_run, key=lambda part: part[0].rank)]


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
