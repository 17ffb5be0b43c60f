"""Details of files in a rank's image, from version 4 of records on."""

from collections.abc import Iterator

from mpiric.model.record import FileDetail
from mpiric.profile import layout
from mpiric.profile.image_head import ImageHead

_OPENED = ("read", "write", "create", "truncate", "append", "exclusive", "direct", "synchronous", "no-atime")


def read_details(image: memoryview, head: ImageHead, tick_s: float) -> Iterator[FileDetail]:
    """One a file, in the order of the files."""
    if "file_details" not in head.sections:
        return
    offset, used, _ = head.sections["file_details"]
    if used != head.sections["files"][1]:
        raise ValueError(f"files of rank {head.world_rank} and their details are not as many")
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
