"""A virtual cluster with Slurm on it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.lab import cluster
from tests.lab.plan import Plan
from tests.lab.slurm import daemons
from tests.lab.slurm.config import SlurmPlan

NEEDS = ("root", "netns", "ip", "tc", "gcc", "slurmctld", "slurmd", "munged")  # of the machine


@contextmanager
def slurm_lab(place: Path, hosts: Sequence[str], plan: SlurmPlan | None = None) -> Iterator[Path]:
    """Bring it up in ``place``, a directory that every host sees; its state directory."""
    with cluster.running(place / "state", Plan(tuple(hosts), shares=(str(place),))) as state:
        daemons.up(state, plan or SlurmPlan())
        yield state
