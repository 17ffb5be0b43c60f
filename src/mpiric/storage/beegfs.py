"""BeeGFS: chunks of a file are distributed round-robin over a number of targets, set per directory.

https://doc.beegfs.io, "Striping". Version 8 replaced `beegfs-ctl` by `beegfs`, which prints the earlier
format on request (`--retro`). Users may only set patterns if the administrator allows it.
"""

import re

from mpiric.host.host import HERE, Host
from mpiric.model.amount import number_of
from mpiric.model.storage import FileLayout, LayoutLimits, Mount, StorageFacts, Stripes
from mpiric.storage._storage import QUESTION_S, Commands, Storage

UNIT = 64 << 10  # smallest chunk size; chunk sizes are powers of two
_SIZE = re.compile(r"Chunksize:\s*(\d+)\s*([KMG]?)", re.IGNORECASE)
_DESIRED = re.compile(r"Number of storage targets:\s*desired:\s*(\d+)")
_POOL = re.compile(r"Storage Pool:\s*\d+\s*\((.+)\)")
_FACTOR = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _read(host: Host, mount: Mount, path: str) -> StorageFacts:
    new = host.which("beegfs-ctl") is None
    targets = _targets(host, "storage", mount.point, new=new)
    return StorageFacts(
        targets=targets,
        metadata_servers=_targets(host, "meta", mount.point, new=new),
        default_layout=_layout(host, path),
        limits=LayoutLimits(UNIT, targets or 0),
        locks="all nodes" if "tuneUseGlobalFileLocks" in " ".join(mount.options) else "",
    )


def _layout(host: Host, path: str) -> FileLayout | None:
    """Return the pattern of a file, or of a directory for files created in it."""
    new = host.which("beegfs-ctl") is None
    entry = ("beegfs", "entry", "info", "--retro", "--verbose") if new else ("beegfs-ctl", "--getentryinfo")
    return parse(_ask(host, *entry, path))


def parse(text: str) -> FileLayout | None:
    """Parse `+ Chunksize: 512K` and `+ Number of storage targets: desired: 4`; None without them."""
    size, desired, pool = _SIZE.search(text), _DESIRED.search(text), _POOL.search(text)
    if not (size and desired):
        return None
    chunk = number_of(size[1]) * _FACTOR[size[2].upper()]
    return FileLayout((Stripes(number_of(desired[1]), chunk, pool=pool[1] if pool else ""),))


def _targets(host: Host, kind: str, point: str, *, new: bool) -> int | None:
    """Count storage or metadata targets: lines that begin with a number or name a target."""
    if new:
        text = _ask(host, "beegfs", "target", "list", "--node-type", kind, "--mount", point)
        targets = re.findall(rf"^\S+\s+{kind}\b", text, re.MULTILINE)
    else:
        command = ("beegfs-ctl", "--listtargets", f"--nodetype={kind}", f"--mount={point}")
        targets = re.findall(r"^\s*\d+\s", _ask(host, *command), re.MULTILINE)
    return len(targets) or None


def _check(layout: FileLayout, facts: StorageFacts) -> str:
    extent, *more = layout.stripes
    if more or layout.directory_stripes or layout.overstriped:
        return "BeeGFS supports one stripe pattern for a complete file only"
    if extent.size_bytes < UNIT or extent.size_bytes & (extent.size_bytes - 1):
        return f"the chunk size must be a power of two of at least {UNIT} bytes, not {extent.size_bytes}"
    if facts.targets and extent.count > facts.targets:
        return f"{extent.count} targets are requested, but only {facts.targets} exist"
    return "" if extent.count > 0 else "the number of targets must be at least 1"


def _render(layout: FileLayout, path: str) -> Commands:
    extent = layout.stripes[0]
    options = (f"--numtargets={extent.count}", f"--chunksize={extent.size_bytes}")
    return (("beegfs-ctl", "--setpattern", *options, path),)


def _ask(host: Host, *command: str) -> str:
    answer = host.run(command, timeout_s=QUESTION_S, working_directory=HERE)
    return answer.stdout if answer.status == 0 else ""


STORAGE = Storage(
    title="BeeGFS",
    types=("beegfs", "beegfs_nodev"),
    magics=(0x19830326,),
    drivers=("beegfs",),
    read=_read,
    layout=_layout,
    check=_check,
    render=_render,
)
