"""Root file systems of other Linux distributions, and commands that run in them."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
_ENTER = Path(__file__).with_name("enter_root.py")
_UNDER_QEMU = ROOT / "tools/setup/under-qemu"


def root_of(suite: str) -> Path:
    """Return the root file system of a Debian release; it is made on first use."""
    subprocess.run([ROOT / "tools/setup/debian-root", suite], cwd=ROOT, check=True, timeout=1700)
    return ROOT / "build/roots" / suite


def inside(
    root: Path,
    argv: Sequence[object],
    places: Sequence[Path] = (),
    settings: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a root file system that shares some directories with this system."""
    variables = {
        "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        **(settings or {}),
    }
    under = [_UNDER_QEMU] if root.name.endswith("-arm64") else []
    command = [*under, sys.executable, _ENTER, root, *places, "--", *argv]
    line = [str(word) for word in command]
    done = subprocess.run(line, env=variables, capture_output=True, text=True, timeout=600, cwd=os.sep)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done
