"""Packages in dist, built by `make packages`, and wheels of their dependencies."""

import os
import subprocess
from pathlib import Path

from tools.generate.packaging.project import read_project

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
PROCESSOR = os.uname().machine
VERSION = read_project(ROOT).version


def run(*argv: object, **options) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed."""
    options = {"capture_output": True, "text": True, "timeout": 900, **options}
    done = subprocess.run([str(word) for word in argv], **options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done


def wheels(platform: str) -> Path:
    """Return the directory of the dependencies' wheels for a Python version and processor."""
    run(ROOT / "tools/setup/wheels", platform, cwd=ROOT)
    return ROOT / "build/wheels" / platform
