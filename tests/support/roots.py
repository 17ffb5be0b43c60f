"""Root file systems of other systems, and commands inside."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
_ENTER = Path(__file__).with_name("enter_root.py")
_UNDER_QEMU = ROOT / "tools/setup/under-qemu"


def root_of(suite: str) -> Path:
    """Debian's root file system of a suite, made when it is asked for first."""
    subprocess.run([ROOT / "tools/setup/debian-root", suite], cwd=ROOT, check=True, timeout=1700)
    return ROOT / "build/roots" / suite


def inside(
    root: Path,
    words: Sequence[object],
    places: Sequence[Path] = (),
    settings: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a root file system, where some directories are this system's."""
    own = {
        "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        **(settings or {}),
    }
    under = [_UNDER_QEMU] if root.name.endswith("-arm64") else []
    enter = [*under, sys.executable, _ENTER, root, *places, "--", *words]
    line = [str(word) for word in enter]
    done = subprocess.run(line, env=own, capture_output=True, text=True, timeout=600, cwd=os.sep)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done
