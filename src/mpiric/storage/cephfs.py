"""CephFS: a file is cut into stripe units that are distributed round-robin over `stripe_count` objects.

Layouts are virtual attributes (https://docs.ceph.com, "File layouts"); a directory has one if it was set
there.
"""

from mpiric.host.host import Host
from mpiric.model.amount import number_of
from mpiric.model.storage import FileLayout, LayoutLimits, Mount, StorageFacts, Stripes
from mpiric.storage._storage import Commands, Storage

UNIT = 64 << 10  # stripe units are multiples of it
_OBJECT = 4 << 20  # default size of an object in bytes, a multiple of the stripe unit
_BUILT_IN = FileLayout((Stripes(1, _OBJECT),))


def _read(host: Host, _mount: Mount, path: str) -> StorageFacts:
    raw = host.attribute(path, "ceph.dir.layout")
    quota, used = (
        _number(host.attribute(path, name)) for name in ("ceph.quota.max_bytes", "ceph.dir.rbytes")
    )
    return StorageFacts(
        default_layout=parse(raw.decode(errors="replace")) if raw else _BUILT_IN,
        limits=LayoutLimits(stripe_unit_bytes=UNIT),
        quota_free_bytes=max(0, quota - (used or 0)) if quota else None,
        locks="all nodes",
    )


def _layout(host: Host, path: str) -> FileLayout | None:
    raw = host.attribute(path, "ceph.file.layout")
    return parse(raw.decode(errors="replace")) if raw else None


def parse(text: str) -> FileLayout | None:
    """Parse `stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=cephfs_data`; None if invalid."""
    fields = dict(word.partition("=")[::2] for word in text.split())
    unit, count = (number_of(fields.get(f"stripe_{name}", ""), -1) for name in ("unit", "count"))
    if min(unit, count) < 0:
        return None
    return FileLayout((Stripes(count, unit, pool=fields.get("pool", "")),))


def _check(layout: FileLayout, _facts: StorageFacts) -> str:
    extent, *more = layout.stripes
    if more or layout.directory_stripes or layout.overstriped:
        return "CephFS supports one stripe pattern for a complete file only"
    if extent.count < 1:
        return "the number of stripes must be at least 1"
    if extent.size_bytes % UNIT:
        return f"the stripe size must be a multiple of {UNIT} bytes, not {extent.size_bytes}"
    return ""


def _render(layout: FileLayout, path: str) -> Commands:
    """Return commands that set the attributes; objects grow first, so each state in between is legal."""
    extent = layout.stripes[0]
    size = max(_OBJECT, extent.size_bytes)
    size += -size % extent.size_bytes
    values = {"object_size": size, "stripe_unit": extent.size_bytes, "stripe_count": extent.count}
    return tuple(
        ("setfattr", "-n", f"ceph.dir.layout.{name}", "-v", str(value), path)
        for name, value in values.items()
    )


def _number(raw: bytes | None) -> int | None:
    text = raw.decode(errors="replace").strip("\0") if raw else ""
    number = number_of(text, -1)
    return number if number >= 0 else None


STORAGE = Storage(
    title="CephFS",
    types=("ceph", "ceph-fuse"),
    sources=("ceph-fuse",),
    magics=(0x00C36400,),
    read=_read,
    layout=_layout,
    check=_check,
    render=_render,
)
