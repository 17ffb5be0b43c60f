"""A program whose threads are busy for some seconds."""

import subprocess
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "system/programs/spin.c"


def build_spin(directory: Path) -> Path:
    """Compile the program into a directory."""
    program = directory / "spin"
    subprocess.run(["gcc", "-O1", "-fopenmp", SOURCE, "-o", program], check=True)
    return program
