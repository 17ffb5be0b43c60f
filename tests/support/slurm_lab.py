"""Virtual cluster with Slurm."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.lab import cluster
from tests.lab.plan import FAST, SLOW, Network, Plan
from tests.lab.slurm import daemons
from tests.lab.slurm.config import SlurmPlan

NEEDS = ("root", "netns", "ip", "tc", "gcc", "slurmctld", "slurmd", "munged")  # requirements on the machine


@contextmanager
def slurm_lab(
    place: Path,
    hosts: Sequence[str],
    plan: SlurmPlan | None = None,
    networks: Sequence[Network] = (SLOW, FAST),
    shares: Sequence[Path] = (),
) -> Iterator[Path]:
    """Start the cluster and yield its state directory; all hosts share ``place`` and ``shares``."""
    shared = tuple(map(str, (place, *shares)))
    with cluster.running(place / "state", Plan(tuple(hosts), tuple(networks), shared)) as state:
        daemons.up(state, plan or SlurmPlan())
        yield state
