"""MPI programs and environments for tests on a cluster."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

_HERE = Path(__file__).parent
# Intel MPI runs what MPICH has compiled: they have one ABI.
_COMPILED_BY = {"mpich": "mpich", "intelmpi": "mpich", "openmpi": "openmpi"}


def ranks_program(name: str, prefix: Callable[[str], Path], place: Path) -> Path:
    """Return a program whose ranks print ``RANK of SIZE on HOST``, for an MPI library from PyPI."""
    program = place / f"ranks-{name}"
    compiler = prefix(_COMPILED_BY[name]) / "bin/mpicc"
    subprocess.run([compiler, "-o", program, _HERE / "ranks.c"], check=True, timeout=120)
    return program


def mpi_environment(name: str, prefix: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which an MPI library is found first."""
    variables = {
        "PATH": f"{prefix}/bin:{environment['PATH']}",
        "LD_LIBRARY_PATH": f"{prefix}/lib",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    if name == "intelmpi":
        variables["I_MPI_ROOT"] = str(prefix)
    if name == "openmpi":
        variables["OPAL_PREFIX"] = str(prefix)
    return {**environment, **variables}


def ranks_printed(stdout: str) -> list[tuple[int, int, str]]:
    """Return rank, size and host of each line, in the order of ranks."""
    command = [line.split() for line in stdout.splitlines() if " of " in line and " on " in line]
    return sorted((int(line[0]), int(line[2]), line[4].partition(".")[0]) for line in command)
