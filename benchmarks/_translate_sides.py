"""Ways of one program to a library: as it is, by a stand-in of mpiric's, by other projects' translations."""

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
_COUNTED = 500  # calls; what the first of them does besides is a small part
_INCLUSIVE = re.compile(r"^\s*([\d,]+)\s.*:measure_(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Side:
    """One program under the library of ``bed``, and the side that it is compared with ("": none)."""

    name: str
    bed: Bed
    program: Path
    environment: Mapping[str, str]
    against: str = PLAIN

    def run(self, *arguments: str, before: tuple[str, ...] = ()) -> str:
        """What it prints."""
        words = [*before, str(self.program), *arguments]
        environment = {**self.bed.environment, **self.environment}
        done = subprocess.run(words, env=environment, check=True, capture_output=True, text=True, timeout=300)
        return done.stdout

    def times_ns(self) -> dict[str, float]:
        """Call → ns."""
        return {name: float(ns) for name, ns in (line.split() for line in self.run().splitlines())}

    def has_opened_library(self) -> bool:
        """Whether the library is in the process when that one function returns: some open it in MPI_Init."""
        return os.path.realpath(self.bed.mpi.library) in self.run("load", "maps")

    def load_ms(self) -> float:
        """CPU time of a process that calls one function, the lowest of some."""
        return min(self._load_ms() for _ in range(5))

    def _load_ms(self) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.run("load")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return 1e3 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)

    def instructions(self, place: Path) -> dict[str, float]:
        """Call (in the letters of a C name) → instructions of one, counted by callgrind."""
        out = place / f"{os.getpid()}.callgrind"
        tool = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=measure_*")
        self.run("count", str(_COUNTED), before=tool)
        words = ["callgrind_annotate", "--inclusive=yes", "--threshold=100", "--auto=no", str(out)]
        told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        found = {name: int(number.replace(",", "")) / _COUNTED for number, name in _INCLUSIVE.findall(told)}
        nothing = found.pop("nothing", 0.0)
        return {name: number - nothing for name, number in found.items()}


def c_name(call: str) -> str:
    """A call in the letters of a C name: ``Irecv+Send+Wait`` is ``irecv_send_wait``."""
    return re.sub(r"\W+", "_", call).strip("_").lower()


def built(compiler: tuple[str, ...], name: str, place: Path, environment: Mapping[str, str]) -> Path:
    """The program, built by a compiler for its library."""
    program = place / f"program-{name}"
    words = [*compiler[:1], "-O2", str(PROGRAM), "-o", str(program), *compiler[1:]]
    done = subprocess.run(words, env=dict(environment), capture_output=True, text=True, check=False)
    if done.returncode:
        raise MpiricError(f"{words[0]} cannot build {PROGRAM.name}: {done.stderr.strip()[-300:]}")
    return program


def sides_of(bed: Bed, others: Mapping[AbiFamily, Bed], peers: Mapping[str, Path], place: Path) -> list[Side]:
    """Every way to the library of ``bed``; ``others`` are libraries of other families, to build for."""
    family = own_family(bed.mpi)
    assert family is not None
    label = bed.mpi.label
    own = built((bed.mpi.compilers["c"],), label, place, bed.environment)
    above = native_part("libmpiric.so", family)
    sides = [Side(PLAIN, bed, own, {}, ""), Side(RUNTIME, bed, own, {"LD_PRELOAD": above}, "")]
    for program, over in stand_ins():
        if over is not family or program not in others:
            continue
        other = others[program]
        compiler = other.mpi.compilers["c"] + ("_abi" if program is AbiFamily.STANDARD else "")
        foreign = built((compiler,), f"{program.value}-for-{label}", place, other.environment)
        stand_in = write_stand_in(place / f"{program.value}-by-{label}", program, bed.mpi)
        name = f"stand-in for {program.value}"
        sides.append(Side(name, bed, foreign, {"LD_PRELOAD": stand_in}))
        runtime = f"{stand_in}:{native_part('libmpiric.so', program)}"
        sides.append(Side(f"{name}, runtime above", bed, foreign, {"LD_PRELOAD": runtime}, RUNTIME))
    return [*sides, *_peers(bed, peers, place)]


def _peers(bed: Bed, peers: Mapping[str, Path], place: Path) -> list[Side]:
    """Other projects' translations, built by whoever runs this."""
    found, label = [], bed.mpi.label
    if directory := peers.get("Mukautuva"):
        compiler = ("cc", f"-I{directory}", f"-L{directory}", f"-Wl,-rpath,{directory}", "-lmuk")
        program = built(compiler, f"mukautuva-{label}", place, bed.environment)
        found.append(Side("Mukautuva", bed, program, {"MPI_LIB": bed.mpi.library}))
    if directory := peers.get(f"mpi_abi_wrapper over {label}"):
        program = built((str(directory / "bin/mpicc"),), f"wrapper-{label}", place, bed.environment)
        # Its library has the name of the library's own standard ABI, and the search path goes before RUNPATH.
        path = f"{directory / 'lib'}:{bed.environment.get('LD_LIBRARY_PATH', '')}".removesuffix(":")
        found.append(Side("mpi_abi_wrapper", bed, program, {"LD_LIBRARY_PATH": path}))
    return found
