"""Hosts of the virtual cluster with a part of a CPU each, so that there may be more hosts than cores.

Needs root and control groups of version 1. Ranks are started by MPICH's launcher on a host of its own.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab import cluster
from tests.lab.plan import Plan, host_names, networks

from benchmarks._programs import Bed
from mpiric.model.errors import NotFoundError

_GROUPS = Path("/sys/fs/cgroup/cpu")
_PERIOD_US = 10_000  # short, so that a host computes nearly evenly
_NETWORK = "eth0:rate=2gbit,mtu=9000"


@dataclass(frozen=True)
class QuotaHosts:
    """Hosts, and the agent of the launcher that puts each process into the group of its host."""

    state: Path
    names: tuple[str, ...]
    agent: Path
    login: str  # host of the launcher, without a quota

    def launch_line(self, bed: Bed, ranks: int, per_node: int = 1) -> list[str]:
        """Return a launch line without a program."""
        return [
            *(bed.mpi.launcher, "-launcher", "ssh", "-launcher-exec", str(self.agent)),
            *("-hosts", ",".join(self.names), "-ppn", str(per_node), "-n", str(ranks)),
        ]

    def run(
        self, bed: Bed, argv: Sequence[str], directory: Path, limit_s: float
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command on the login host, in a directory that all hosts see."""
        environment = {**bed.environment, "UCX_NET_DEVICES": "eth0", "XDG_STATE_HOME": str(directory)}
        inside = ["/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(directory), *argv]
        return cluster.run(self.state, self.login, inside, environment, timeout=limit_s)


@contextmanager
def quota_hosts(directory: Path, shares_of_cpu: Sequence[float]) -> Iterator[QuotaHosts]:
    """Start a host for each share of a CPU; all hosts see the directory."""
    if os.geteuid() or not (_GROUPS / "cpu.cfs_quota_us").exists():
        raise NotFoundError(
            "hosts with a part of a CPU need root and control groups of version 1",
            hint="run this as root on a machine with /sys/fs/cgroup/cpu",
        )
    names = host_names(str(len(shares_of_cpu) + 1))
    *compute, login = names
    groups = _GROUPS / f"mpiric-benchmark-{os.getpid()}"
    state, agent = directory / "lab", directory / "agent"
    directory.mkdir(parents=True, exist_ok=True)
    agent.write_text(
        "#!/bin/sh\n"
        "for word; do case $word in -*) ;; *) host=$word; break ;; esac; done\n"
        f"echo $$ > {groups}/$host/tasks\n"
        f'exec {state}/bin/ssh "$@"\n'
    )
    agent.chmod(0o755)
    try:
        _make_groups(groups, dict(zip(compute, shares_of_cpu, strict=True)))
        with cluster.running(state, Plan(names, networks=networks([_NETWORK]), shares=(str(directory),))):
            for host in compute:  # a bridge forwards a second after its ports are up
                cluster.run(state, login, ["ping", "-c", "1", "-w", "5", f"{host}-eth0"], timeout=30)
            yield QuotaHosts(state, tuple(compute), agent, login)
    finally:
        for path in (*sorted(groups.glob("*/")), groups):
            if path.is_dir():
                path.rmdir()


def _make_groups(groups: Path, shares: Mapping[str, float]) -> None:
    groups.mkdir()
    for host, share in shares.items():
        (groups / host).mkdir()
        (groups / host / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
        (groups / host / "cpu.cfs_quota_us").write_text(str(round(share * _PERIOD_US)))
