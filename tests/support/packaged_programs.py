"""Installation of the wheel in other root file systems, and MPI programs that run in any of them."""

import json
from pathlib import Path

from tests.conftest import mpis_here
from tests.support.dist import DIST, PROCESSOR, ROOT, run, wheels
from tests.support.oversubscription import OVERSUBSCRIBED, WITHOUT_LIBFABRIC
from tests.support.roots import inside

SUITES = {
    "bullseye": "2.31",
    "bookworm": "2.36",
    "trixie": "2.41",
}  # release of Debian → version of its glibc
ON_PAPER = {"MPI_Sendrecv": 20, "MPI_Send": 1, "MPI_Allreduce": 10, "MPI_Bcast": 4, "MPI_Barrier": 6}


def install_inside(root: Path, wheel: Path, place: Path, processor: str) -> None:
    """Install into `place/venv` with the Python of a root file system, without a network."""
    python = inside(root, ["python3", "-c", "import sys; print(sys.version_info.minor)"]).stdout.strip()
    links = wheels(f"3.{python}-{processor}")
    inside(root, ["python3", "-m", "venv", place / "venv"], [place])
    options = ("--quiet", "--no-compile", "--no-index", "--find-links", links)
    inside(root, [place / "venv/bin/pip", "install", *options, wheel], [place, links, DIST])


def build_program(source: Path, mpi: str, directory: Path) -> Path:
    """Compile a C program for the ABI family of an MPI library and any glibc since 2.17."""
    zig = ROOT / "build/portable/zig/ziglang/zig"
    family, soname = ("openmpi", "libmpi.so.40") if mpi == "openmpi" else ("mpich", "libmpi.so.12")
    program = directory / f"{source.stem}-{mpi}"
    arguments = ["-target", f"{PROCESSOR}-linux-gnu.2.17", f"-I{ROOT}/third_party/{family}/include", source]
    stub = ROOT / f"build/portable/{PROCESSOR}/stubs/mpi_stub_{family}/{soname}"
    run(zig, "cc", *arguments, stub, "-o", program)
    return program


def launch_line(mpi: str, prefix: Path, *program: object) -> list[str]:
    """Return the launch line for two ranks."""
    more = ["--oversubscribe"] if mpi == "openmpi" else []
    return [str(prefix / "bin/mpiexec"), *more, "-n", "2", *map(str, program)]


def settings(prefix: Path) -> dict[str, str]:
    """Return the variables with which programs find an MPI library in a separate prefix."""
    (mpi,) = [mpi for mpi in mpis_here() if mpi.prefix == str(prefix)]
    variables = {**mpi.environment, **OVERSUBSCRIBED[mpi.implementation], **WITHOUT_LIBFABRIC}
    return {**variables, "LD_LIBRARY_PATH": ":".join(mpi.library_path)}


def counted(printed: str) -> dict[str, int]:
    """Return the number of calls by function, from the output of `mpiric profile --json`."""
    return {use["name"]: use["calls"] for use in json.loads(printed)["functions"]}
