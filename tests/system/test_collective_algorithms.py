"""mpiric's own collective algorithms give what each MPI library gives: tests/runtime/coll/grid.cpp."""

import pytest
from tests.support.native_programs import native_program
from tests.support.oversubscription import OVERSUBSCRIBED

from mpiric.host.facts.local import LocalHost
from mpiric.model.mpi_library import MpiLibrary
from mpiric.mpis import find_mpis

FAMILIES = {"mpich": "mpich", "openmpi": "openmpi", "intelmpi": "mpich"}
DEBIAN = "debian-openmpi"  # an older one of the same family
# Nothing to compare with where ranks describe the same data by different datatypes: their own collectives
# fail then, or never end (Open MPI's allgatherv chooses its algorithm by the size of the own datatype).
ALIKE = {"intelmpi": ["alike"], "openmpi": ["alike"]}
# On 16 ranks and more Open MPI 4.1 chooses an alltoall that mixes up data of two types: not to compare with.
RIGHT = {
    "openmpi-4.1.4": {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_alltoall_algorithm": "1",
    }
}


def grid_holds(mpi: MpiLibrary, mpi_run, ranks: int, *arguments: str) -> None:
    """Run the grid and check that all comparisons are equal."""
    program = native_program(f"collective_grid_{FAMILIES[mpi.implementation]}")
    arguments = (*arguments, *ALIKE.get(mpi.implementation, []))
    settings = {**OVERSUBSCRIBED[mpi.implementation], **RIGHT.get(mpi.label, {})}
    done = mpi_run(mpi, ranks, program, *arguments, env=settings, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip().endswith(" 0 failed"), done.stdout
    assert int(done.stdout.split()[0]) > 1000


def under(name: str):
    """Return a library as a test parameter; the others run in the sweep only."""
    need = name if name == DEBIAN else f"mpi:{name}"
    marks = [pytest.mark.requires(need), *([] if name == "mpich" else [pytest.mark.sweep])]
    return pytest.param(name, marks=marks)


@pytest.fixture(params=[under(name) for name in (*FAMILIES, DEBIAN)])
def library(request) -> MpiLibrary:
    """Each library of `mpiric mpi install`, for which the grid is built, and Debian's Open MPI."""
    name, found_by = ("openmpi", "path") if request.param == DEBIAN else (request.param, "mpiric")
    mpis = find_mpis(LocalHost())
    return next(mpi for mpi in mpis if (mpi.implementation, mpi.found_by) == (name, found_by))


@pytest.mark.parametrize("ranks", [2, 3])
def test_every_algorithm_gives_what_the_library_gives(library, mpi_run, ranks):
    grid_holds(library, mpi_run, ranks, "quick")


@pytest.mark.parametrize("ranks", [5, pytest.param(8, marks=pytest.mark.sweep)])
def test_levels_inside_nodes_give_what_the_library_gives(library, mpi_run, ranks):
    grid_holds(library, mpi_run, ranks, "quick", "only=multilevel")


@pytest.mark.sweep
@pytest.mark.timeout(1000)
@pytest.mark.parametrize("ranks", range(2, 18))
def test_every_algorithm_gives_what_the_library_gives_on_more_ranks(library, mpi_run, ranks):
    grid_holds(library, mpi_run, ranks, "full" if ranks < 10 else "quick")
