"""Digest of the content of an HDF5 file (also NetCDF-4), independent of its layout, through `h5dump`."""

import os
import shutil
import subprocess
from hashlib import blake2b
from pathlib import Path

from mpiric.host.command_log import log_start
from mpiric.host.user_directories import probe_environment

_MAGIC = b"\x89HDF\r\n\x1a\n"
_EVERY_DIGIT = "%.17g"


def is_hdf5(path: Path) -> bool:
    """Return whether a file starts with the HDF5 signature."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def contents_digest(path: Path) -> str:
    """Return a digest of the names, types, attributes and data of a file; "" if they cannot be read."""
    program = shutil.which("h5dump")
    if program is None:
        return ""
    state = blake2b(digest_size=16)
    command = [program, "-m", _EVERY_DIGIT, str(path.absolute())]
    log_start(command)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=probe_environment(os.environ), cwd="/"
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # skip the file name
        while block := process.stdout.read(1 << 20):
            state.update(block)
    return state.hexdigest() if process.returncode == 0 else ""
