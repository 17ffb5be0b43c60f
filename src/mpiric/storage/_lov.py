"""Lustre's attribute `lustre.lov`: binary layouts in the format of `liblustreapi` and the server.

Structures `lov_user_md_v1`, `_v3` and `lov_comp_md_v1` of Lustre's lustre_user.h; all little-endian.
"""

import struct

from mpiric.model.storage import ALL_TARGETS, FileLayout, Stripes

ATTRIBUTE = "lustre.lov"
_V1, _V3, _COMPOSITE = 0x0BD10BD0, 0x0BD30BD0, 0x0BD60BD0
_HEAD = struct.Struct("<IIQQIHH")  # magic, pattern, object id, sequence, size, count, first target
_POOL_BYTES = 16
_COMPOSITE_HEAD = struct.Struct("<IIIHHH6xQ")  # magic, bytes, generation, flags, entries, mirrors
_ENTRY = struct.Struct("<IIQQIIIIQ")  # id, flags, start, end, offset, bytes, generation, padding
_END = 2**64 - 1
_EVERY, _OVERSTRIPED, _ON_METADATA_SERVER = 0xFFFF, 0x200, 0x100
_RAID0 = 1


def parse(raw: bytes) -> FileLayout | None:
    """Return the layout in an attribute, None if it is not one; extents on metadata servers are left out."""
    try:
        if struct.unpack_from("<I", raw)[0] != _COMPOSITE:
            extent, flags = _plain(raw, None)
            return FileLayout((extent,), overstriped=bool(flags & _OVERSTRIPED))
        entries = _COMPOSITE_HEAD.unpack_from(raw)[4]
        extents_and_flags = []
        for index in range(entries):
            _, _, _, end, offset, size, *_ = _ENTRY.unpack_from(
                raw, _COMPOSITE_HEAD.size + index * _ENTRY.size
            )
            extents_and_flags.append(_plain(raw[offset : offset + size], None if end == _END else end))
    except (struct.error, ValueError):
        return None
    extents = tuple(extent for extent, flags in extents_and_flags if not flags & _ON_METADATA_SERVER)
    return (
        FileLayout(extents, overstriped=any(flags & _OVERSTRIPED for _, flags in extents_and_flags))
        if extents
        else None
    )


def _plain(raw: bytes, end_bytes: int | None) -> tuple[Stripes, int]:
    magic, pattern, _, _, size, count, _ = _HEAD.unpack_from(raw)
    if magic not in (_V1, _V3):
        raise ValueError(f"magic number {magic:#x}")
    pool = raw[_HEAD.size : _HEAD.size + _POOL_BYTES] if magic == _V3 else b""
    name = pool.split(b"\0")[0].decode(errors="replace")
    return Stripes(ALL_TARGETS if count == _EVERY else count, size, end_bytes, name), pattern


def pack(layout: FileLayout) -> bytes:
    """Return the value that sets a layout; the file system chooses the target of the first stripe."""
    parts = [_packed(extent, overstriped=layout.overstriped) for extent in layout.stripes]
    if len(parts) == 1:
        return parts[0]
    offset = _COMPOSITE_HEAD.size + len(parts) * _ENTRY.size
    entries, start = b"", 0
    for extent, part in zip(layout.stripes, parts, strict=True):
        end = _END if extent.end_bytes is None else extent.end_bytes
        entries += _ENTRY.pack(0, 0, start, end, offset, len(part), 0, 0, 0)
        start, offset = end, offset + len(part)
    head = _COMPOSITE_HEAD.pack(_COMPOSITE, offset, 0, 0, len(parts), 0, 0)
    return head + entries + b"".join(parts)


def _packed(extent: Stripes, *, overstriped: bool) -> bytes:
    pattern = _RAID0 | (_OVERSTRIPED if overstriped else 0)
    magic = _V3 if extent.pool else _V1
    head = _HEAD.pack(magic, pattern, 0, 0, extent.size_bytes, extent.count & _EVERY, _EVERY)
    return head + (extent.pool.encode()[:_POOL_BYTES].ljust(_POOL_BYTES, b"\0") if extent.pool else b"")
