"""Ranks in another order by the preloaded runtime: all that knows ranks or handles agrees."""

import subprocess
from pathlib import Path

import pytest
from tests.support.oversubscription import OVERSUBSCRIBED, yielding
from tests.support.preloaded import NATIVE, OVERSUBSCRIBE, calls

from mpiric.host.facts.local import LocalHost
from mpiric.mpis import find_mpis
from mpiric.profile.read import read_record

PROGRAMS = Path(__file__).parent / "runtime_programs"
SLOTS = "2031"  # slots of ranks 0 to 3

INSTALLED = [
    pytest.param("mpich", "mpich", id="mpich", marks=pytest.mark.requires("mpi:mpich")),
    pytest.param("openmpi", "openmpi", id="openmpi", marks=pytest.mark.requires("mpi:openmpi")),
    pytest.param("intelmpi", "mpich", id="intelmpi", marks=pytest.mark.requires("mpi:intelmpi")),
]
DEBIAN = [
    pytest.param("mpich", id="mpich", marks=pytest.mark.requires("debian-mpich", "gfortran")),
    pytest.param("openmpi", id="openmpi", marks=pytest.mark.requires("debian-openmpi", "gfortran")),
]


@pytest.fixture
def order(tmp_path):
    path = tmp_path / "order.txt"
    path.write_text("".join(f"{slot}\n" for slot in SLOTS))
    return path


def compiled(compiler: str | Path, source: str, directory: Path) -> Path:
    program = directory / Path(source).stem
    subprocess.run(
        [compiler, "-O1", PROGRAMS / source, "-o", program], cwd=directory, check=True, timeout=120
    )
    return program


def preloaded(family: str, **settings: object) -> list[str]:
    """Return the argv before a program that preloads the runtime into its ranks."""
    runtime = yielding(NATIVE / family / "libmpiric.so")
    return ["env", f"LD_PRELOAD={runtime}", *(f"{name}={value}" for name, value in settings.items())]


@pytest.fixture
def reordered(mpi_run, tmp_path, order):
    """`reordered(implementation, family, **settings)` runs the program that checks everything, in C."""

    def run(implementation: str, family: str, **settings: object) -> subprocess.CompletedProcess[str]:
        mpi = next(
            m for m in find_mpis(LocalHost()) if (m.implementation, m.found_by) == (implementation, "mpiric")
        )
        program = compiled(mpi.compilers["c"], "reordered.c", tmp_path)
        variables = {"MPIRIC_RANK_ORDER": order, **settings}
        command = [*preloaded(family, **variables), program, SLOTS, tmp_path / "ranks.bin"]
        return mpi_run(mpi, 4, *command, env=OVERSUBSCRIBED[implementation])

    return run


@pytest.mark.parametrize(("implementation", "family"), INSTALLED)
def test_all_that_is_made_from_the_world_has_its_order(implementation, family, reordered, tmp_path):
    done = reordered(implementation, family)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")) == ["", "all right", "deleted from MPI_COMM_WORLD"]
    assert (tmp_path / "ranks.bin").read_bytes() == b"".join(rank.to_bytes(4, "little") for rank in range(4))


@pytest.mark.parametrize(("implementation", "family"), INSTALLED)
def test_the_record_and_the_tuner_know_the_ranks_of_the_program(implementation, family, reordered, tmp_path):
    done = reordered(
        implementation,
        family,
        MPIRIC_RECORD_DIR=tmp_path / "record",
        MPIRIC_MERGE="tree",
        MPIRIC_COLLECTIVES="rotate",
    )
    assert (done.returncode, "mpiric" in done.stderr) == (0, False), done.stderr
    assert "all right" in done.stdout
    record = read_record(tmp_path / "record")
    assert calls(record, "MPI_Sendrecv") == [1] * 4
    for rank in record.ranks:
        neighbours = {(rank.rank + 1) % 4: 1, (rank.rank - 1) % 4: 1}
        assert {peer.world_rank: peer.messages for peer in rank.peers if peer.messages} == neighbours


@pytest.mark.parametrize("source", ["reordered_f77.f", "reordered.f90", "reordered_f08.f90"])
@pytest.mark.parametrize("family", DEBIAN)
def test_fortran_programs_see_the_order_and_their_own_handles(family, source, order, environment, tmp_path):
    program = compiled(f"mpif90.{family}", source, tmp_path)
    launcher = {"mpich": "mpiexec.mpich", "openmpi": "mpirun.openmpi"}[family]
    done = subprocess.run(
        [
            launcher,
            *OVERSUBSCRIBE[family],
            "-n",
            "4",
            *preloaded(family, MPIRIC_RANK_ORDER=order),
            program,
            SLOTS,
        ],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout.split("\n")) == (0, ["all right", ""])


@pytest.mark.requires("mpi:intelmpi", "gfortran")
@pytest.mark.parametrize("source", ["reordered_f77.f", "reordered.f90"])
def test_fortran_programs_under_intel_mpi_do_too(source, order, mpi_run, tmp_path):
    """Test the dialects that do not need a module of mpi_f08: Intel's is for its own compiler only."""
    intel = next(
        m for m in find_mpis(LocalHost()) if (m.implementation, m.found_by) == ("intelmpi", "mpiric")
    )
    prefix, program = Path(intel.prefix), tmp_path / "reordered"
    modules = sorted((prefix / "include/mpi/gfortran").glob("12.*"))[-1]  # read by later compilers as well
    command = ["gfortran", "-O1", f"-I{modules}", f"-I{prefix}/include", PROGRAMS / source, "-o", program]
    command += [f"-L{prefix}/lib", "-lmpifort", "-lmpi"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    reordered = [*preloaded("mpich", MPIRIC_RANK_ORDER=order), program, SLOTS]
    done = mpi_run(intel, 4, *reordered, env=OVERSUBSCRIBED["intelmpi"])
    assert (done.returncode, done.stdout.split("\n")) == (0, ["all right", ""]), done.stderr


@pytest.mark.parametrize(("implementation", "family"), INSTALLED[:2])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0\n1\n1\n2\n", "line 3: slot 1 is taken twice"),
        ("0\n1\n2\n", "3 slots for 4 ranks"),
    ],
)
def test_what_is_no_order_changes_nothing_and_is_said_once(
    implementation, family, text, problem, reordered, order
):
    order.write_text(text)
    done = reordered(implementation, family)
    messages = [line for line in done.stderr.splitlines() if line.startswith("mpiric: ")]
    assert messages == [f"mpiric: ranks keep the order they have: {order}: {problem}"]
    assert "slot() ==" in done.stdout  # the program finds its ranks where the launcher has put them
