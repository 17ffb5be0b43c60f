"""Start, stop and wait for Slurm's daemons."""

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from tests.lab import cluster
from tests.lab.enter import command_line
from tests.lab.errors import LabError
from tests.lab.needs import compiler, program
from tests.lab.slurm.config import SlurmPlan, slurm_conf
from tests.lab.state import read_record

_HERE = Path(__file__).parent
_PROGRAMS = {"slurmctld": "slurm-wlm", "slurmd": "slurm-wlm", "munged": "munge"}
_PATIENCE_S = 60
CONTROLLER = "controller"


def up(directory: Path, plan: SlurmPlan | None = None) -> None:
    """Start what does not run and wait until all nodes are usable. A plan replaces the configuration."""
    hosts = read_record(directory).plan.hosts
    for name, package in _PROGRAMS.items():
        if program(name) is None:
            raise LabError(
                f"{name} is not there", hint=f"on Debian: apt-get install {package} slurm-wlm-basic-plugins"
            )
    place = directory / "slurm"
    if plan is not None or not place.exists():
        _configure(directory, hosts, plan or SlurmPlan())
    start(directory, *hosts)
    wait_for_nodes(directory, hosts)


def start(directory: Path, *expected: str) -> None:
    """Start what does not run on these hosts, without waiting until the nodes are usable."""
    place, first = directory / "slurm", read_record(directory).plan.hosts[0]
    shim = place / "fake_affinity.so"
    command = ["/bin/sh", str(_HERE / "start.sh"), str(place)]
    starting = [
        subprocess.Popen(
            command_line(
                directory,
                host,
                [*command, CONTROLLER if host == first else "", str(shim) if shim.exists() else ""],
            ),
            env=_environment(place),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(place / f"start.{host}.log").open("wb"),
        )
        for host in expected
    ]
    for host, process in zip(expected, starting, strict=True):
        if process.wait() != 0:
            raise LabError(
                f"Slurm does not start on {host}: {(place / f'start.{host}.log').read_text()[-400:]}"
            )


def down(directory: Path) -> None:
    """Stop all daemons, and remove jobs and configuration."""
    for host in read_record(directory).plan.hosts:
        stop(directory, host, ("slurmd", "slurmctld", "munged"))
        cluster.run(directory, host, ["rm", "-rf", "/var/spool/slurmctld", "/var/spool/slurmd", "/run/munge"])
    subprocess.run(["rm", "-rf", str(directory / "slurm")], check=True)


def stop(directory: Path, host: str, daemons: Sequence[str]) -> None:
    """End these daemons on a host as an administrator would, and wait until they have ended."""
    files = {"munged": "/run/munge/munged.pid"}
    for name in daemons:
        file = files.get(name, f"/run/{name}.pid")
        script = (
            'p=$(cat "$1" 2>/dev/null) && [ "$(cat /proc/$p/comm 2>/dev/null)" = "$2" ] || exit 0; kill $p; '
            "for i in $(seq 100); do [ -d /proc/$p ] || exit 0; sleep 0.1; done; kill -9 $p"
        )
        cluster.run(directory, host, ["/bin/sh", "-c", script, "sh", file, name])


def wait_for_nodes(directory: Path, hosts: Sequence[str]) -> None:
    """Wait until the controller takes each of these nodes for usable."""
    deadline = time.monotonic() + _PATIENCE_S
    query = ["timeout", "5", "sinfo", "--noheader", "--Node", "--format=%N %T", "--nodes", ",".join(hosts)]
    controller = read_record(directory).plan.hosts[0]
    while True:
        done = cluster.run(directory, controller, query)
        states = dict(line.split() for line in done.stdout.splitlines())
        if all(states.get(host) in {"idle", "allocated", "mixed"} for host in hosts):
            return
        if time.monotonic() > deadline:
            raise LabError(
                f"not every node is usable: {states or done.stderr.strip()}",
                hint=f"see {directory}/slurm/*.log",
            )
        time.sleep(0.2)


def _configure(directory: Path, hosts: Sequence[str], plan: SlurmPlan) -> None:
    place = directory / "slurm"
    place.mkdir(exist_ok=True)
    key = place / "munge.key"
    if not key.exists():
        key.touch(0o600)
        key.write_bytes(os.urandom(128))
    (place / "slurm.conf").write_text(slurm_conf(hosts, plan, plan.geometry or _own_geometry(), place))
    # Debian's 22.05 wants a cgroup version named even where nothing uses cgroups.
    (place / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupMountpoint=/run/cgroup-unused\n")
    (place / "topology").write_text(plan.topology)
    if plan.topology:
        command = [compiler() or "cc", "-shared", "-fPIC", "-O1", "-o", str(place / "fake_affinity.so")]
        subprocess.run([*command, str(_HERE / "fake_affinity.c")], check=True)


def _environment(place: Path) -> dict[str, str]:
    topology = (place / "topology").read_text()
    stored = {
        name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "HWLOC_", "LD_"))
    }
    believed = {"HWLOC_XMLFILE" if topology.endswith(".xml") else "HWLOC_SYNTHETIC": topology}
    return {**stored, **(believed if topology else {})}


def _own_geometry() -> str:
    done = subprocess.run([program("slurmd") or "slurmd", "-C"], capture_output=True, text=True)
    return " ".join(word for word in done.stdout.splitlines()[0].split() if not word.startswith("NodeName="))
