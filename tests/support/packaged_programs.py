"""The wheel installed in other root file systems, and MPI programs for any of them."""

import json
from pathlib import Path

from tests.conftest import mpis_here
from tests.support.dist import DIST, PROCESSOR, ROOT, run, wheels
from tests.support.oversubscription import OVERSUBSCRIBED, WITHOUT_LIBFABRIC
from tests.support.roots import inside

SUITES = {"bullseye": "2.31", "bookworm": "2.36", "trixie": "2.41"}  # of Debian → its glibc
ON_PAPER = {"MPI_Sendrecv": 20, "MPI_Send": 1, "MPI_Allreduce": 10, "MPI_Bcast": 4, "MPI_Barrier": 6}


def install_inside(root: Path, wheel: Path, place: Path, processor: str) -> None:
    """Install into `place/venv`, by the Python of a root file system and without a network."""
    python = inside(root, ["python3", "-c", "import sys; print(sys.version_info.minor)"]).stdout.strip()
    links = wheels(f"3.{python}-{processor}")
    inside(root, ["python3", "-m", "venv", place / "venv"], [place])
    options = ("--quiet", "--no-compile", "--no-index", "--find-links", links)
    inside(root, [place / "venv/bin/pip", "install", *options, wheel], [place, links, DIST])


def build_program(source: Path, mpi: str, directory: Path) -> Path:
    """Compile a program of C for the family of an MPI and any glibc since 2.17."""
    zig = ROOT / "build/portable/zig/ziglang/zig"
    family, soname = ("openmpi", "libmpi.so.40") if mpi == "openmpi" else ("mpich", "libmpi.so.12")
    program = directory / f"{source.stem}-{mpi}"
    words = ["-target", f"{PROCESSOR}-linux-gnu.2.17", f"-I{ROOT}/third_party/{family}/include", source]
    stub = ROOT / f"build/portable/{PROCESSOR}/stubs/mpi_stub_{family}/{soname}"
    run(zig, "cc", *words, stub, "-o", program)
    return program


def launch_line(mpi: str, prefix: Path, *program: object) -> list[str]:
    """Two ranks."""
    more = ["--oversubscribe"] if mpi == "openmpi" else []
    return [str(prefix / "bin/mpiexec"), *more, "-n", "2", *map(str, program)]


def settings(prefix: Path) -> dict[str, str]:
    """Variables with which programs find an MPI library that is in a prefix of its own."""
    (mpi,) = [mpi for mpi in mpis_here() if mpi.prefix == str(prefix)]
    own = {**mpi.environment, **OVERSUBSCRIBED[mpi.implementation], **WITHOUT_LIBFABRIC}
    return {**own, "LD_LIBRARY_PATH": ":".join(mpi.library_path)}


def counted(printed: str) -> dict[str, int]:
    """Function → calls, of what `mpiric profile --json` prints."""
    return {use["name"]: use["calls"] for use in json.loads(printed)["functions"]}
