"""Make the samples of the record's present version: tests/data/record/v<version>.

    .venv/bin/python tools/capture/record.py

Needs Debian's MPICH. To be run once when the version has been raised; samples of earlier versions stay.
"""

import lzma
import shutil
import subprocess
import tempfile
from pathlib import Path

from mpiric.profile import layout

DATA = Path(__file__).parents[2] / "tests/data/record"


def recorded(directory: Path, ranks: int, *words: str) -> None:
    """Profile the program into a directory; it may die."""
    launch = ("mpiexec.mpich", "-n", str(ranks), "./sample", *words)
    subprocess.run(
        ["mpiric", "profile", "-q", "-o", directory, "--", *launch],
        cwd=directory.parent,
        check=not words,
    )


def main() -> None:
    """The record of four ranks, and what one rank left that was killed."""
    target = DATA / f"v{layout.VERSION}"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        subprocess.run(["mpicc.mpich", DATA / "sample.c", "-o", place / "sample"], check=True)
        recorded(place / "whole", 4)
        shutil.copy(place / "whole/record.mpiric", target)
        recorded(place / "killed", 1, "die")
        (part,) = (place / "killed").glob("rank-*.part")
        (target / "killed.part.xz").write_bytes(lzma.compress(part.read_bytes(), preset=9))


if __name__ == "__main__":
    main()
