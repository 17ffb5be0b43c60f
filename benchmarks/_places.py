"""Places to measure collectives: this machine, or virtual hosts on one of the cluster's networks."""

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab import cluster
from tests.lab.enter import command_line
from tests.lab.plan import Plan, host_names

from benchmarks._programs import Bed
from benchmarks._report import RESULTS
from mpiric.model.errors import ProgramFailedError

_LIMIT_S = 900.0
_CROWDED = {
    "mpich": {
        f"MPIR_CVAR_{collective}_POSIX_INTRA_ALGORITHM": "mpir"
        for collective in ("ALLREDUCE", "BARRIER", "REDUCE", "BCAST")
    },
    "intelmpi": {"I_MPI_WAIT_MODE": "1"},
    "openmpi": {
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_threads_pthreads_yield_strategy": "nanosleep",
    },
}


@dataclass(frozen=True)
class Place:
    """Hosts of the ranks, with the launcher options and variables to run there."""

    name: str
    ranks: int
    nodes: int
    most_bytes: int
    device: str = ""  # network device; "" on this machine
    lab: Path | None = None
    hosts: tuple[str, ...] = ()

    def line(self, bed: Bed, variables: Iterable[str] = ()) -> list[str]:
        """Return the launch line without a program; Open MPI forwards only named variables to other hosts."""
        if self.lab is None:
            bound = ["-bind-to", "core"] if bed.mpi.implementation == "mpich" else []
            return [bed.mpi.launcher, *bound, "-n", str(self.ranks)]
        per_node = self.ranks // self.nodes
        if bed.mpi.implementation == "openmpi":
            hosts = ",".join(f"{host}:{per_node}" for host in self.hosts)
            forwarded = [word for name in variables for word in ("-x", name)]
            return [bed.mpi.launcher, "--host", hosts, "--bind-to", "none", *forwarded, "-n", str(self.ranks)]
        options = ["-hosts", ",".join(self.hosts), "-ppn", str(per_node), "-n", str(self.ranks)]
        return [bed.mpi.launcher, *options]

    def environment(self, bed: Bed) -> dict[str, str]:
        """Return the variables that choose the network and allow more ranks than cores."""
        if self.lab is None:
            return {}
        network = {
            "mpich": {"UCX_NET_DEVICES": self.device},
            "intelmpi": {"FI_TCP_IFACE": self.device, "I_MPI_PIN": "0"},  # all hosts have the same cores
            "openmpi": {
                "OMPI_MCA_pml": "ob1",
                "OMPI_MCA_btl": "self,sm,tcp",
                "OMPI_MCA_btl_tcp_if_include": self.device,
            },
        }[bed.mpi.implementation]
        crowded = self.ranks > len(os.sched_getaffinity(0))
        return {**network, **(_CROWDED[bed.mpi.implementation] if crowded else {})}

    def on_first(self, argv: Sequence[str]) -> list[str]:
        """Return the command line that runs a command on this machine or on the first host."""
        return list(argv) if self.lab is None else command_line(self.lab, self.hosts[0], argv)

    def execute(self, argv: Sequence[str], environment: Mapping[str, str], cwd: Path | None = None) -> str:
        """Run a command and return its stdout. Raises ProgramFailedError."""
        done = subprocess.run(
            self.on_first(argv),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
            cwd=cwd,
        )
        if done.returncode:
            raise ProgramFailedError(f"{' '.join(argv[:8])} …: {(done.stderr or done.stdout)[-300:]}")
        return done.stdout


@contextmanager
def place(
    name: str, device: str, most_bytes: int, hosts: int = 4, per_node: int = 2, shares: tuple[str, ...] = ()
) -> Iterator[Place]:
    """Yield this machine if no device is named, else hosts of a virtual cluster that see `shares`."""
    if not device:
        yield Place(name, 2, 1, most_bytes)
        return
    directory = RESULTS / "collectives" / "lab"
    directory.parent.mkdir(parents=True, exist_ok=True)
    names = host_names(str(hosts))
    cluster.up(directory, Plan(names, shares=shares))
    try:
        for host in names[1:]:  # a bridge forwards a second after its ports are up
            cluster.run(
                directory, names[0], ["ping", "-c", "1", "-w", "5", f"{host}-{device}"], timeout=_LIMIT_S
            )
        yield Place(name, hosts * per_node, hosts, most_bytes, device, directory, names)
    finally:
        cluster.down(directory)
