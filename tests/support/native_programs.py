"""Programs that only tests run, built when the first of them asks: `make setup` leaves them out."""

import fcntl
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def native_program(name: str) -> Path:
    """Build a program or library of tests/runtime, and return where it is; one process at a time builds."""
    build = ROOT / "build/native"
    with (ROOT / "build/.setup-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cmake = [
            Path(sys.executable).parent / "cmake",
            "--build",
            build,
            "--target",
            name.removesuffix(".so"),
        ]
        done = subprocess.run(cmake, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return build / "tests" / name
