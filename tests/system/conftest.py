from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.lab import cluster
from tests.lab.host import LabHost
from tests.lab.plan import Plan
from tests.lab.slurm import daemons
from tests.support.login import Login
from tests.support.slurm_lab import slurm_lab
from tests.support.workshop import Workshop


@pytest.fixture
def shop(tmp_path: Path, environment: dict[str, str], run_mpiric: Callable[..., object]) -> Workshop:
    place = tmp_path / "shop"
    place.mkdir()
    return Workshop(place, environment, run_mpiric)


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """State directory of a virtual cluster of the module's ``HOSTS``, under its ``SLURM`` if it has one."""
    place = tmp_path_factory.mktemp("lab")
    hosts, slurm = request.module.HOSTS, getattr(request.module, "SLURM", None)
    with slurm_lab(place, hosts, slurm) if slurm else cluster.running(place / "state", Plan(hosts)) as state:
        yield state


@pytest.fixture
def host(lab: Path) -> LabHost:
    """Host n1 of the lab, with all hosts and daemons running again."""
    daemons.up(lab)
    return LabHost(lab, "n1")


@pytest.fixture
def login(
    host: LabHost, lab: Path, mpi_prefix: Callable[[str], Path], request: pytest.FixtureRequest
) -> Login:
    """A user on n1, in a directory of this test's own that every host sees."""
    return Login(lab, mpi_prefix, lab.parent / request.node.name)
