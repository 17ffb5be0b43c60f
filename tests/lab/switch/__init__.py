"""The userspace switch: a C program, compiled when a cluster with a delayed network is started."""

import select
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.needs import compiler
from tests.lab.plan import Network, Plan

_SOURCES = Path(__file__).parent
_PATIENCE_S = 20
_GIGABIT = 1000


def build(directory: Path) -> Path:
    """Return the compiled program in the cluster's directory."""
    program = directory / "switch"
    command = [
        compiler() or "cc",
        "-std=gnu11",
        "-O2",
        "-Wall",
        "-o",
        str(program),
        *map(str, sorted(_SOURCES.glob("*.c"))),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(
            f"the switch does not compile: {done.stderr.strip()[:400]}",
            hint="on Debian: apt-get install gcc libc6-dev linux-libc-dev",
        )
    return program


def start(program: Path, network: Network, plan: Plan, pids: Mapping[str, int], directory: Path) -> None:
    """Run it for one network; it lives as long as the cluster."""
    command = [
        str(program),
        "-d",
        f"{network.delay_us:g}",
        "-r",
        f"{network.rate_mbit:g}",
        "-m",
        str(network.mtu),
    ]
    if network.rate_mbit >= _GIGABIT:
        command.append("-g")  # super-frames: less work per byte; on slow links they would make timing coarse
    ports = [f"/proc/{pid}/ns/net,{plan.mac(network, host)}" for host, pid in pids.items()]
    with (directory / f"switch-{network.name}.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, network.name, *ports],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    assert process.stdout is not None
    output = b""
    if select.select([process.stdout], [], [], _PATIENCE_S)[0]:
        output = process.stdout.readline()
    if output != b"ready\n":
        why = (directory / f"switch-{network.name}.log").read_text().strip()
        raise LabError(
            f"the switch of {network.name} does not start: {why or 'no answer'}",
            hint="it needs /dev/net/tun and the right to make TAP devices",
        )
    process.returncode = 0  # left to the supervisor, which collects it with the others
