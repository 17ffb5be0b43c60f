"""Programs with and without steps: how to build them, their inputs, and the meaning of their marks.

Sources of LULESH, SNAP, HPCG, CoMD and NPB are not part of this project: ``--sources DIR`` names a directory
with checkouts of github.com/LLNL/LULESH, lanl/SNAP, hpcg-benchmark/hpcg, exmatex/CoMD and of NPB 3.3
(a folder NPB3.3-MPI anywhere in it).
"""

import shutil
import subprocess
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks._programs import Bed
from benchmarks._report import RESULTS, ROOT
from mpiric.model.errors import MpiricError, NotFoundError

_EXAMPLES = Path("/usr/share/lammps/examples")
_BROUGHT = ROOT / "build/programs"
_HERE = Path(__file__).parent
_FORTRAN = "-O2 -std=legacy -fallow-argument-mismatch -fallow-invalid-boz -w"
_SNAP = """! steps in time of a transport calculation
&invar
  nthreads=1 npey=2 npez=1 ndimen=3 nx=8 lx=0.8 ny=8 ly=0.8 nz=8 lz=0.8 ichunk=4
  nmom=2 nang=10 ng=8 mat_opt=1 src_opt=1 timedep=1 it_det=0 tf=1.0 nsteps=40
  iitm=5 oitm=40 epsi=1.E-4 fluxp=0 scatp=0 fixup=0
/
"""
_PYTHON = """
from mpi4py import MPI
from array import array
world, total = MPI.COMM_WORLD, array("d", [1.0])
for step in range(200000):
    part = array("d", [total[0] / 3 + step % 5])
    world.Allreduce(part, total)
    if world.rank == 0 and step % 20000 == 0:
        print(step, total[0])
"""

Command = Callable[[Bed, Path | None], tuple[list[str], dict[str, str]]]  # argv, inputs


@dataclass(frozen=True)
class MarkProgram:
    """Program; ``meaning`` describes one step, "" for a program that must be refused."""

    name: str
    meaning: str
    make: Command
    libraries: tuple[str, ...] = ("mpich-5", "openmpi-5")  # beginnings of labels
    refused: str = ""  # part of the reason
    other_builds: tuple[str, ...] = ()  # libraries with another version of the program
    sources: Path | None = field(default=None, compare=False)

    def command(self, bed: Bed) -> tuple[list[str], dict[str, str]]:
        """Launch line and inputs. Raises MpiricError where the program cannot be had."""
        return self.make(bed, self.sources)


def offer_sources(parser: ArgumentParser) -> None:
    """Add the option that names checkouts."""
    parser.add_argument("--sources", type=Path, help="directory with checkouts of LULESH, SNAP, hpcg, CoMD")


def programs(sources: Path | None, only: Iterable[str] = ()) -> list[MarkProgram]:
    """Return all programs, or the programs whose names contain one of the texts."""
    parts = tuple(only)
    chosen = [program for program in _PROGRAMS if not parts or any(part in program.name for part in parts)]
    return [MarkProgram(**{**vars(program), "sources": sources}) for program in chosen]


def _launched(bed: Bed, ranks: int, *command: str) -> list[str]:
    crowd = ["--oversubscribe"] if bed.mpi.implementation == "openmpi" and ranks > 2 else []
    return [bed.mpi.launcher, *crowd, "-n", str(ranks), *command]


def _example(name: str, *arguments: object) -> Command:
    return lambda bed, _: (_launched(bed, 2, bed.program(name), *map(str, arguments)), {})


def _lammps(folder: str, script: str, changes: Mapping[str, str], *data: str) -> Command:
    def make(bed: Bed, _: Path | None) -> tuple[list[str], dict[str, str]]:
        place = _EXAMPLES / folder
        if not (place / script).is_file():
            raise NotFoundError(f"no {place / script}", hint="apt install lammps-examples")
        text = (place / script).read_text()
        for before, after in changes.items():
            text = text.replace(before, after)
        inputs = {name: (place / name).read_text() for name in data} | {script: text}
        return _launched(bed, 2, *lammps_words(bed), "-in", script), inputs

    return make


def lammps_words(bed: Bed) -> list[str]:
    """Return the command of LAMMPS: Debian's for its Open MPI, the package of PyPI for MPICH's ABI."""
    debian = shutil.which("lmp", path="/usr/bin")
    if bed.mpi.label.startswith("openmpi-4") and debian:
        return [debian]
    program = next(iter(_BROUGHT.glob("lammps/lib/*/site-packages/lammps/lmp")), None)
    if program is None or bed.mpi.implementation == "openmpi":
        raise NotFoundError(f"LAMMPS for {bed.mpi.label} is not installed", hint="make setup")
    return [str(program)]


def _built(target: Path, *commands: list[str], bed: Bed, cwd: Path | None = None) -> str:
    """Return the path of a program; build it with these commands if it does not exist yet."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for command in () if target.exists() else commands:
        done = subprocess.run(
            command, cwd=cwd, env=bed.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise MpiricError(f"{command[0]} cannot build {target.name}: {done.stderr.strip()[-300:]}")
    return str(target)


def _checkout(sources: Path | None, name: str) -> Path:
    directory = sources / name if sources is not None else None
    if directory is None or not directory.is_dir():
        where = "which --sources would name" if sources is None else f"{name} of {sources}"
        raise NotFoundError(f"no checkout of {name}, {where}")
    return directory


def _target(bed: Bed, name: str) -> Path:
    return RESULTS / "programs" / bed.mpi.label / name


def _compiler(bed: Bed, language: str) -> str:
    if language not in bed.mpi.compilers:
        raise NotFoundError(f"{bed.mpi.label} has no {language} compiler here")
    return bed.mpi.compilers[language]


def _lulesh(bed: Bed, sources: Path | None) -> tuple[list[str], dict[str, str]]:
    files = sorted(map(str, _checkout(sources, "LULESH").glob("*.cc")))
    command = [_compiler(bed, "cxx"), "-O2", "-DUSE_MPI=1", *files]
    program = _built(_target(bed, "lulesh"), [*command, "-o", str(_target(bed, "lulesh"))], bed=bed)
    return _launched(bed, 8, program, "-s", "8", "-i", "400"), {}


def _comd(bed: Bed, sources: Path | None) -> tuple[list[str], dict[str, str]]:
    root = _checkout(sources, "CoMD")
    files = sorted(map(str, (root / "src-mpi").glob("*.c")))
    make = root / "src-mpi/CoMD_info.h"
    if not make.exists():
        facts = "VARIANT HOSTNAME KERNEL_NAME KERNEL_RELEASE PROCESSOR COMPILER COMPILER_VERSION"
        names = (*facts.split(), "CFLAGS", "LDFLAGS")
        make.write_text("".join(f'#define CoMD_{name} "-"\n' for name in names))
    command = [_compiler(bed, "c"), "-std=c99", "-O2", "-DDO_MPI", "-DDOUBLE", *files]
    program = _built(_target(bed, "comd"), [*command, "-o", str(_target(bed, "comd")), "-lm"], bed=bed)
    box = ["-x", "8", "-y", "8", "-z", "8", "-i", "2", "-j", "1", "-k", "1", "-N", "400", "-n", "5"]
    return _launched(bed, 2, program, *box), {}


def _hpcg(bed: Bed, sources: Path | None) -> tuple[list[str], dict[str, str]]:
    root = _checkout(sources, "hpcg")
    files = sorted(str(path) for path in (root / "src").glob("*.cpp") if path.name != "main_hpgmp.cpp")
    command = [_compiler(bed, "cxx"), "-O2", "-DHPCG_NO_OPENMP", f"-I{root}/src", *files]
    program = _built(_target(bed, "hpcg"), [*command, "-o", str(_target(bed, "hpcg"))], bed=bed)
    text = "HPCG benchmark input file\nanyone\n16 16 16\n30\n"
    return _launched(bed, 2, program), {"hpcg.dat": text}


def _snap(bed: Bed, sources: Path | None) -> tuple[list[str], dict[str, str]]:
    root, target = _checkout(sources, "SNAP") / "src", _target(bed, "gsnap")
    build = target.with_name("snap-build")
    if not target.exists():
        shutil.rmtree(build, ignore_errors=True)
        shutil.copytree(root, build)
    command = [
        "make",
        f"FORTRAN={_compiler(bed, 'fortran')}",
        "FFLAGS=-O2 -w",
        "OPENMP=no",
        "PP=cpp",
        f"TARGET={target}",
        "MPI=yes",
    ]
    program = _built(target, command, bed=bed, cwd=build)
    return _launched(bed, 2, program, "input", "output"), {"input": _SNAP}


def npb_program(
    bed: Bed, sources: Path | None, name: str, letter: str, *, ranks: int, subtype: str = ""
) -> str:
    """Return the path of an NPB program for a number of ranks; ``subtype`` selects BT's way to write."""
    checkout = next(iter(sources.rglob("NPB3.3-MPI")), None) if sources else None
    root = checkout or _checkout(sources, "NPB3.3-MPI")
    written = f"{name}.{letter}.{ranks}" + (f".mpi_io_{subtype}" if subtype else "")
    target = _target(bed, written)
    build = target.with_name(f"npb-{name}")
    if not target.exists():
        shutil.rmtree(build, ignore_errors=True)
        shutil.copytree(root, build)
        fortran, c = _compiler(bed, "fortran"), bed.mpi.compilers["c"]
        text = "".join(
            f"{key} = {value}\n"
            for key, value in {
                "MPIF77": fortran, "FLINK": fortran, "FFLAGS": _FORTRAN, "FLINKFLAGS": "-O2",
                "MPICC": c, "CLINK": c, "CFLAGS": "-O2", "CLINKFLAGS": "-O2", "CC": "gcc -g",
                "BINDIR": "../bin", "RAND": "randi8",
            }.items()
        )  # fmt: skip
        (build / "config/make.def").write_text(text)
        (build / "bin").mkdir(exist_ok=True)
    command = [
        "make",
        name,
        f"CLASS={letter}",
        f"NPROCS={ranks}",
        *([f"SUBTYPE={subtype}"] if subtype else []),
    ]
    return _built(target, command, ["cp", f"bin/{written}", str(target)], bed=bed, cwd=build)


def _npb(name: str, letter: str) -> Command:
    def make(bed: Bed, sources: Path | None) -> tuple[list[str], dict[str, str]]:
        return _launched(bed, 2, npb_program(bed, sources, name, letter, ranks=2)), {}

    return make


def _fortran(bed: Bed, _: Path | None) -> tuple[list[str], dict[str, str]]:
    target = _target(bed, "steps-fortran")
    command = [_compiler(bed, "fortran"), "-O2", str(_HERE / "_steps.f90"), "-o", str(target)]
    return _launched(bed, 2, _built(target, command, bed=bed, cwd=target.parent)), {}


def _mpi4py(bed: Bed, _: Path | None) -> tuple[list[str], dict[str, str]]:
    python = _BROUGHT / "mpi4py/bin/python"
    if not python.exists():
        raise NotFoundError("mpi4py is not installed", hint="make setup")
    return _launched(bed, 2, str(python), "steps.py"), {"steps.py": _PYTHON}


def _few(bed: Bed, _: Path | None) -> tuple[list[str], dict[str, str]]:
    program = bed.build(ROOT / "tests/system/programs/told_steps.c", "told_steps")
    return _launched(bed, 2, program, "input"), {"input": "15 0 0"}


def _hpcc(bed: Bed, _: Path | None) -> tuple[list[str], dict[str, str]]:
    program = shutil.which("hpcc", path="/usr/bin")
    example = next((path for path in Path("/usr/share").glob("*/hpcc/**/*hpccinf.txt*")), None)
    if program is None or example is None:
        raise NotFoundError("hpcc is not installed", hint="apt install hpcc")
    text = example.read_text().replace("1000         Ns", "300          Ns")
    return _launched(bed, 4, program), {"hpccinf.txt": text}


def _imb(bed: Bed, _: Path | None) -> tuple[list[str], dict[str, str]]:
    program = shutil.which("IMB-MPI1", path=bed.environment["PATH"])
    if program is None:
        raise NotFoundError(f"IMB-MPI1 for {bed.mpi.label} is not installed")
    return _launched(bed, 2, program, "Allreduce", "Bcast", "-time", "0.05"), {}


def _two_launches(bed: Bed, _: Path | None) -> tuple[list[str], dict[str, str]]:
    line = f"{bed.mpi.launcher} -n 2 {bed.program('heat3d')} 32 40"
    return ["sh", "-c", f"{line} && {line}"], {}


_QEQ = ("data.aC", "buck.inc", "param.qeq1", "param.qeq2")
_LAMMPS = ("mpich-5", "intelmpi", "openmpi-4")
_DEBIANS = ("openmpi-4",)
_PROGRAMS = (
    *(
        MarkProgram(f"LAMMPS {name}", meaning, make, _LAMMPS, other_builds=_DEBIANS)
        for name, meaning, make in (
            ("melt", "the potential energy, every 50 steps", _lammps("melt", "in.melt", {"250": "2000"})),
            (
                "crack",
                "new neighbour lists, after some 50 steps: the box is fitted",
                _lammps("crack", "in.crack", {"5000": "4000"}),
            ),
            (
                "peptide",
                "a step with a look at the neighbour lists: two of three",
                _lammps("peptide", "in.peptide", {"300": "200"}, "data.peptide"),
            ),
            (
                "qeq",
                "a step: a look at the neighbour lists",
                _lammps("qeq", "in.qeq.buck", {"run 100": "run 10"}, *_QEQ),
            ),
            (
                "minimise",
                "an evaluation of forces, then a step: a look at the neighbour lists",
                _lammps("min", "in.min", {}),
            ),
        )
    ),
    MarkProgram("LULESH", "a cycle: its time step is agreed on", _lulesh, ("openmpi-4", "openmpi-5")),
    MarkProgram("SNAP", "an iteration of the sources", _snap, ("openmpi-4",)),
    MarkProgram("HPCG", "an iteration of CG", _hpcg, ("openmpi-4", "openmpi-5")),
    MarkProgram("CoMD", "a step, or several", _comd),
    MarkProgram("NPB CG", "an iteration of CG", _npb("cg", "A"), ("openmpi-4",)),
    MarkProgram("NPB LU", "a step of SSOR", _npb("lu", "W"), ("openmpi-4",)),
    MarkProgram("heat3d", "a step", _example("heat3d", 96, 400)),
    MarkProgram("cg", "an iteration", _example("cg", 128, 20000)),
    MarkProgram("mpi4py", "a step", _mpi4py, ("mpich-5",)),
    MarkProgram("Fortran", "a step", _fortran, ("openmpi-4", "mpich-4")),
    MarkProgram("HPCC", "", _hpcc, ("openmpi-4",), refused="evenly"),
    MarkProgram("IMB", "", _imb, ("intelmpi",), refused="evenly"),
    MarkProgram("15 steps", "", _few, ("mpich-5",), refused="no call came more than"),
    MarkProgram("two launches", "", _two_launches, ("mpich-5",), refused="the launch line"),
)
