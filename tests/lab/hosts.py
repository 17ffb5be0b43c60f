"""A host: a process in network, host name, IPC and mount namespaces of its own."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tests.lab.errors import LabError
from tests.lab.namespaces import BIND, HOST, RECURSIVE, mount, set_hostname, unshare
from tests.lab.plan import Plan

# Directories that two computers never share: shared-memory segments, session directories, sockets, logs.
_LINKS_S = 5.0
_PRIVATE = {"/run": "755", "/tmp": "1777", "/dev/shm": "1777", "/var/spool": "755", "/var/log": "755"}


@dataclass(frozen=True)
class Birth:
    """Host that is being created, with a pipe in each direction."""

    name: str
    pid: int
    hears: int
    tells: int

    def say(self, word: str) -> None:
        """Let the host continue."""
        os.write(self.hears, f"{word}\n".encode())

    def await_word(self, word: str) -> None:
        """Wait until it has come so far; raises LabError with its reason when it has not."""
        output = os.read(self.tells, 4096).decode(errors="replace").strip()
        if output != word:
            raise LabError(f"the host {self.name} cannot be made: {output or 'it ended'}")


def is_private(path: Path) -> bool:
    """Return whether a directory is private to each host, or contains such a directory."""
    return any(_is_below(place, str(path).rstrip("/")) for place in _PRIVATE)


def begin_host(name: str, plan: Plan, directory: Path) -> Birth:
    """Fork the process that becomes the host's holder."""
    hears, say = os.pipe()
    listen, tells = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(say)
        os.close(listen)
        _live(name, plan, directory, hears, tells)
    os.close(hears)
    os.close(tells)
    return Birth(name, pid, say, listen)


def _live(name: str, plan: Plan, directory: Path, hears: int, tells: int) -> NoReturn:
    try:
        os.setsid()
        unshare(HOST)
        set_hostname(name)
        _mount_private(name, plan, directory)
        os.write(tells, b"mounted\n")
        os.read(hears, 64)
        _configure(name, plan)
        os.write(tells, b"ready\n")
        os.execvp("sleep", ["sleep", "infinity"])
    except (OSError, subprocess.SubprocessError) as error:
        os.write(tells, str(error).encode()[:4000])
    os._exit(1)


def _mount_private(name: str, plan: Plan, directory: Path) -> None:
    """Mount empty directories over the machine's directories, and bind-mount the shared ones inside."""
    hidden = [share for share in plan.shares if any(_is_below(share, place) for place in _PRIVATE)]
    stored = {share: os.open(share, os.O_PATH | os.O_CLOEXEC) for share in hidden}
    groups = os.open("/sys/fs/cgroup", os.O_PATH | os.O_CLOEXEC) if Path("/sys/fs/cgroup").is_dir() else -1
    expected = directory / name
    expected.mkdir(exist_ok=True)
    (expected / "hostname").write_text(f"{name}\n")
    for place, mode in _PRIVATE.items():
        mount("tmpfs", place, "tmpfs", data=f"mode={mode}")
    Path("/run/lock").mkdir(mode=0o1777)
    for share, fd in stored.items():
        Path(share).mkdir(parents=True, exist_ok=True)
        mount(f"/proc/self/fd/{fd}", share, flags=BIND | RECURSIVE)
    mount("sysfs", "/sys", "sysfs")  # /sys/class/net of this host
    if groups >= 0:
        mount(f"/proc/self/fd/{groups}", "/sys/fs/cgroup", flags=BIND | RECURSIVE)
    mount(str(directory / "hosts"), "/etc/hosts", flags=BIND)
    if Path("/etc/hostname").exists():
        mount(str(expected / "hostname"), "/etc/hostname", flags=BIND)


def _configure(name: str, plan: Plan) -> None:
    lines = ["link set lo up"]
    for network in plan.networks:
        lines.append(f"address add {plan.address(network, name)}/24 dev {network.name}")
        lines.append(f"link set {network.name} up")
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True, check=True)
    # The kernel takes up to a second to call a new link running; until then UCX calls the others unreachable.
    until = time.monotonic() + _LINKS_S
    while time.monotonic() < until and not all(_runs(network.name) for network in plan.networks):
        time.sleep(0.02)


def _runs(interface: str) -> bool:
    return Path(f"/sys/class/net/{interface}/operstate").read_text().strip() in ("up", "unknown")


def _is_below(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")
