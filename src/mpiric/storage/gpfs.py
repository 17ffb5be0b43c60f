"""IBM Storage Scale (GPFS): blocks of each file are distributed over all disks; files have no own layout.

`mmlsdisk` and `mmlsquota` as in IBM's command reference, `-Y` for colon-separated output.
"""

from mpiric.host.host import Host
from mpiric.model.amount import number_of
from mpiric.model.storage import LayoutLimits, Mount, StorageFacts
from mpiric.storage._storage import QUESTION_S, Storage

_COMMANDS = "/usr/lpp/mmfs/bin"


def _read(host: Host, mount: Mount, _path: str) -> StorageFacts:
    device = mount.source.removeprefix("/dev/")
    disks = [row for row in _table(host, "mmlsdisk", device) if row.get("status", "ready").lower() == "ready"]
    data = [row for row in disks if row.get("metadata") != "yes" or row.get("data", "yes") == "yes"]
    # The smallest space that a limit of user, group or file set leaves; limits are in KiB.
    free_bytes = []
    for row in _table(host, "mmlsquota", device):
        usage, limit = (number_of(row.get(name, ""), -1) for name in ("blockUsage", "blockLimit"))
        if usage >= 0 and limit > 0:
            free_bytes.append(max(0, limit - usage) << 10)
    return StorageFacts(
        targets=len(data) or None,
        limits=LayoutLimits(stripe_count=len(data)),
        quota_free_bytes=min(free_bytes, default=None),
        locks="all nodes",
    )


def _table(host: Host, command: str, device: str) -> list[dict[str, str]]:
    """Return rows of `-Y` output: a line `…:HEADER:…` names the fields, %3A encodes a colon."""
    answer = host.run(
        [f"{_COMMANDS}/{command}", *((device, "-Y") if command == "mmlsdisk" else ("-Y", device))],
        timeout_s=QUESTION_S,
    )
    names: list[str] = []
    rows = []
    for line in answer.stdout.splitlines() if answer.status == 0 else ():
        fields = [field.replace("%3A", ":") for field in line.split(":")]
        if "HEADER" in fields[:4]:
            names = fields
        elif names:
            rows.append(dict(zip(names, fields, strict=False)))
    return rows


STORAGE = Storage(
    title="IBM Storage Scale", types=("gpfs",), magics=(0x47504653,), drivers=("gpfs",), read=_read
)
