"""Requirements of a cluster on the machine, each with a hint for its absence."""

import os
import subprocess
from pathlib import Path
from shutil import which

from tests.lab.errors import LabError
from tests.lab.plan import Plan

SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
_PROGRAMS = {"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux", "sleep": "coreutils"}


def program(name: str) -> str | None:
    """Return the path of a program, also if it is only in root's PATH."""
    return which(name) or which(name, path=":".join(SBIN))


def check_needs(plan: Plan) -> None:
    """Raise LabError for the first thing missing."""
    if os.geteuid() != 0:
        raise LabError("only root can make hosts and networks", hint="sudo python3 -m tests.lab up")
    for name, package in _PROGRAMS.items():
        if program(name) is None:
            raise LabError(f"{name} is not there", hint=f"on Debian: apt-get install {package}")
    _check_namespaces()
    delayed = any(network.delay_us for network in plan.networks)
    if delayed and compiler() is None:
        raise LabError(
            "a network with a delay needs a C compiler", hint="on Debian: apt-get install gcc libc6-dev"
        )
    if delayed and not Path("/dev/net/tun").exists():
        raise LabError(
            "a network with a delay needs /dev/net/tun",
            hint="modprobe tun, or `docker run --device /dev/net/tun`",
        )


def compiler() -> str | None:
    """Return a C compiler."""
    return next((path for name in ("cc", "gcc", "clang") if (path := which(name))), None)


def _check_namespaces() -> None:
    done = subprocess.run(
        ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "true"],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise LabError(
            f"this kernel or container does not let root make namespaces: {done.stderr.strip()}",
            hint="in a container: docker run --privileged; CONFIG_NET_NS, PID_NS, UTS_NS, IPC_NS are needed",
        )
