"""Make the samples of the record's present version: tests/data/record/v<version>.

    .venv/bin/python tools/capture/record.py

Needs Debian's MPICH. To be run once when the version has been raised; samples of earlier versions stay.
"""

import lzma
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from mpiric.host.installation.native import native_part
from mpiric.model.mpi_library import AbiFamily
from mpiric.profile import layout

DATA = Path(__file__).parents[2] / "tests/data/record"


def recorded(directory: Path) -> None:
    """Profile the program into a directory."""
    subprocess.run(
        ["mpiric", "profile", "-q", "-o", directory, "--", "mpiexec.mpich", "-n", "4", "./sample"],
        cwd=directory.parent,
        check=True,
    )


def killed(directory: Path) -> None:
    """Let one rank die that records into a directory; nobody joins what it leaves."""
    runtime = native_part("libmpiric.so", AbiFamily.MPICH)
    subprocess.run(
        ["mpiexec.mpich", "-n", "1", "env", f"LD_PRELOAD={runtime}", "./sample", "die"],
        cwd=directory.parent,
        env={**os.environ, "MPIRIC_RECORD_DIR": str(directory)},
    )


def main() -> None:
    """Capture the record of four ranks, and the part of a rank that was killed."""
    target = DATA / f"v{layout.VERSION}"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        subprocess.run(["mpicc.mpich", DATA / "sample.c", "-o", place / "sample"], check=True)
        recorded(place / "whole")
        shutil.copy(place / "whole/record.mpiric", target)
        killed(place / "killed")
        (part,) = (place / "killed").glob("rank-*.part")
        (target / "killed.part.xz").write_bytes(lzma.compress(part.read_bytes(), preset=9))


if __name__ == "__main__":
    main()
