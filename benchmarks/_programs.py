"""Programs of the benchmarks, built for an MPI library, and the environment of a user of that library."""

import os
import subprocess
from argparse import ArgumentParser, Namespace
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from benchmarks._report import RESULTS
from mpiric.host.facts.local import LocalHost
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.mpi_library import MpiLibrary
from mpiric.mpis import find_mpis

_EXAMPLES = Path(__file__).parents[1] / "examples"
# Prefixes of variables that tune MPI programs; programs must not inherit them from the benchmark.
_TUNING = (
    *("MPIRIC_", "OMPI_", "PMIX_", "PRTE_", "MPICH_", "MPIR_", "I_MPI_", "HYDRA_", "FI_", "UCX_", "SLURM_"),
    *("PMI_", "OMP_", "GOMP_", "KMP_", "MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD", "LD_LIBRARY_PATH"),
)
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclass(frozen=True)
class Bed:
    """MPI library that is ready to run programs: its launcher and environment."""

    mpi: MpiLibrary
    environment: Mapping[str, str]

    def program(self, name: str) -> str:
        """Return the path of an example program; build it if it is older than its source."""
        return self.build(next(iter(sorted(_EXAMPLES.glob(f"**/{name}.c")))), name)

    def build(self, source: Path, name: str, *flags: str) -> str:
        """Return the path of a program, built with this library's compiler if older than its source."""
        target = RESULTS / "programs" / self.mpi.label / name
        if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
            return str(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        command = [self.mpi.compilers["c"], "-std=gnu11", "-O2", *flags]
        command += [str(source), "-o", str(target), "-lm"]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MpiricError(f"{command[0]} cannot build {source.name}: {done.stderr.strip()[-300:]}")
        return str(target)

    def line(self, ranks: int, program: str, *arguments: object, options: tuple[str, ...] = ()) -> list[str]:
        """Return the launch line that a user would write."""
        return [self.mpi.launcher, *options, "-n", str(ranks), self.program(program), *map(str, arguments)]


def beds() -> dict[str, Bed]:
    """Return implementation → its newest installed library that can compile and launch."""
    return {bed.mpi.implementation: bed for bed in _all_beds()}


def releases(prefixes: Iterable[str]) -> dict[str, Bed]:
    """Return prefix of a label, such as ``openmpi-4`` → newest matching library, where there is one."""
    libraries = _all_beds()
    return {prefix: bed for prefix in prefixes for bed in libraries if bed.mpi.label.startswith(prefix)}


def _all_beds() -> list[Bed]:
    """Return all installed libraries that can compile and launch, the newest last."""
    usable = [mpi for mpi in find_mpis(LocalHost()) if mpi.launcher and "c" in mpi.compilers]
    usable.sort(key=lambda mpi: [int(part) for part in mpi.version.split(".") if part.isdigit()])
    return [Bed(mpi, _environment(mpi)) for mpi in usable]


class Case(Protocol):
    """A named case of one implementation."""

    @property
    def name(self) -> str:
        """The name that ``--only`` matches, wholly or in part."""
        ...

    @property
    def mpi(self) -> str:
        """Implementation."""
        ...


_AnyCase = TypeVar("_AnyCase", bound=Case)


def offer_choice(parser: ArgumentParser) -> None:
    """Add the options of `chosen`."""
    parser.add_argument("--mpi", action="append", help="only under these implementations")
    parser.add_argument("--only", action="append", help="only cases whose name contains this")


def chosen(cases: Iterable[_AnyCase], available: Container[str], arguments: Namespace) -> list[_AnyCase]:
    """Return the selected cases whose library is installed. Raises NotFoundError without any."""
    selection = [
        case
        for case in cases
        if case.mpi in available
        and (not arguments.mpi or case.mpi in arguments.mpi)
        and (not arguments.only or any(word in case.name for word in arguments.only))
    ]
    if not selection:
        raise NotFoundError("no case fits the MPI libraries of this machine", hint="see `mpiric mpi list`")
    return selection


def results_directory(benchmark: str, case: str, bed: Bed) -> Path:
    """Return the directory for the files of a case under a library."""
    return RESULTS / benchmark / f"{bed.mpi.label}-{case.replace(' ', '-')}"


def changes_of(tuned: Mapping[str, Any]) -> str:
    """Return the changes in the result of `mpiric tune --json` on one line."""
    return " ".join(f"{change['knob']}={change['value']}" for change in tuned["changes"]) or "nothing"


def bed(implementation: str = "mpich") -> Bed:
    """Return the newest installed version of a library. Raises NotFoundError."""
    available = beds()
    if implementation not in available:
        raise NotFoundError(
            f"{implementation} with a compiler wrapper is not installed",
            hint=f"`make setup`, or: mpiric mpi install {implementation}",
        )
    return available[implementation]


def _environment(mpi: MpiLibrary) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_TUNING)}
    paths = {
        "PATH": ":".join(
            [str(Path(mpi.launcher).parent), *mpi.search_path, inherited.get("PATH", "/usr/bin:/bin")]
        ),
        "LD_LIBRARY_PATH": ":".join(mpi.library_path),
    }
    return {**inherited, **(_AS_ROOT if os.geteuid() == 0 else {}), **mpi.environment, **paths}
