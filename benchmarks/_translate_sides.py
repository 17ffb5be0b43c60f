"""Ways to run a program on a library: natively, through a shim of mpiric, through other translations."""

import os
import re
import resource
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks._programs import Bed
from mpiric.host.installation.native import native_part
from mpiric.host.installation.stand_ins import stand_ins, write_stand_in
from mpiric.model.errors import MpiricError
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.translation import own_family

PROGRAM = Path(__file__).parent / "_translate.c"
PLAIN, RUNTIME = "as it is", "as it is, runtime above"
_COUNTED = 500  # calls; the extra work of the first one is then a small part
_INCLUSIVE = re.compile(r"^\s*([\d,]+)\s.*:measure_(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Side:
    """A program under the library of ``bed``, and the name of the side to compare it with ("": none)."""

    name: str
    bed: Bed
    program: Path
    environment: Mapping[str, str]
    against: str = PLAIN

    def run(self, *arguments: str, before: tuple[str, ...] = ()) -> str:
        """Run the program and return its stdout."""
        command = [*before, str(self.program), *arguments]
        environment = {**self.bed.environment, **self.environment}
        done = subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True, timeout=300
        )
        return done.stdout

    def times_ns(self) -> dict[str, float]:
        """Call → ns."""
        return {name: float(ns) for name, ns in (line.split() for line in self.run().splitlines())}

    def has_opened_library(self) -> bool:
        """Return whether one function loads the library; some translations open it in MPI_Init only."""
        return os.path.realpath(self.bed.mpi.library) in self.run("load", "maps")

    def load_ms(self) -> float:
        """Return the lowest CPU time in ms of five processes that call one function."""
        return min(self._load_ms() for _ in range(5))

    def _load_ms(self) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.run("load")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return 1e3 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)

    def instructions(self, place: Path) -> dict[str, float]:
        """Return C name of a call → instructions per call, counted by callgrind."""
        out = place / f"{os.getpid()}.callgrind"
        tool = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=measure_*")
        self.run("count", str(_COUNTED), before=tool)
        command = ["callgrind_annotate", "--inclusive=yes", "--threshold=100", "--auto=no", str(out)]
        profile = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        counts = {
            name: int(number.replace(",", "")) / _COUNTED for number, name in _INCLUSIVE.findall(profile)
        }
        nothing = counts.pop("nothing", 0.0)
        return {name: number - nothing for name, number in counts.items()}


def c_name(call: str) -> str:
    """Return a call as a C name: ``irecv_send_wait`` for ``Irecv+Send+Wait``."""
    return re.sub(r"\W+", "_", call).strip("_").lower()


def built(compiler: tuple[str, ...], name: str, place: Path, environment: Mapping[str, str]) -> Path:
    """Build the program with the compiler of a library and return its path."""
    program = place / f"program-{name}"
    command = [*compiler[:1], "-O2", str(PROGRAM), "-o", str(program), *compiler[1:]]
    done = subprocess.run(command, env=dict(environment), capture_output=True, text=True, check=False)
    if done.returncode:
        raise MpiricError(f"{command[0]} cannot build {PROGRAM.name}: {done.stderr.strip()[-300:]}")
    return program


def sides_of(bed: Bed, beds: Mapping[AbiFamily, Bed], peers: Mapping[str, Path], place: Path) -> list[Side]:
    """Return all ways to the library of ``bed``; programs are also built for the libraries ``beds``."""
    family = own_family(bed.mpi)
    assert family is not None
    label = bed.mpi.label
    native = built((bed.mpi.compilers["c"],), label, place, bed.environment)
    above = native_part("libmpiric.so", family)
    sides = [Side(PLAIN, bed, native, {}, ""), Side(RUNTIME, bed, native, {"LD_PRELOAD": above}, "")]
    for program, over in stand_ins():
        if over is not family or program not in beds:
            continue
        other = beds[program]
        compiler = other.mpi.compilers["c"] + ("_abi" if program is AbiFamily.STANDARD else "")
        foreign = built((compiler,), f"{program.value}-for-{label}", place, other.environment)
        stand_in = write_stand_in(place / f"{program.value}-by-{label}", program, bed.mpi)
        name = f"stand-in for {program.value}"
        sides.append(Side(name, bed, foreign, {"LD_PRELOAD": stand_in}))
        runtime = f"{stand_in}:{native_part('libmpiric.so', program)}"
        sides.append(Side(f"{name}, runtime above", bed, foreign, {"LD_PRELOAD": runtime}, RUNTIME))
    return [*sides, *_peers(bed, peers, place)]


def _peers(bed: Bed, peers: Mapping[str, Path], place: Path) -> list[Side]:
    """Return the sides of other projects' translations, built by the user."""
    sides, label = [], bed.mpi.label
    if directory := peers.get("Mukautuva"):
        compiler = ("cc", f"-I{directory}", f"-L{directory}", f"-Wl,-rpath,{directory}", "-lmuk")
        program = built(compiler, f"mukautuva-{label}", place, bed.environment)
        sides.append(Side("Mukautuva", bed, program, {"MPI_LIB": bed.mpi.library}))
    if directory := peers.get(f"mpi_abi_wrapper over {label}"):
        program = built((str(directory / "bin/mpicc"),), f"wrapper-{label}", place, bed.environment)
        # Its library has the name of the library's own standard ABI, and the search path goes before RUNPATH.
        path = f"{directory / 'lib'}:{bed.environment.get('LD_LIBRARY_PATH', '')}".removesuffix(":")
        sides.append(Side("mpi_abi_wrapper", bed, program, {"LD_LIBRARY_PATH": path}))
    return sides
