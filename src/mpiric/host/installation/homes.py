"""Directories that hold MPI libraries from PyPI, and the libraries in them."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from mpiric.host.user_directories import named_path, user_directory_or_passwd

MARK = ".mpiric.json"  # written last: a prefix without it is incomplete


def homes(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the directories of prefixes; `mpiric mpi install` writes to the first one.

    MPIRIC_MPI_HOME replaces all others. The default is the user's data directory, then mpiric's Python
    environment, which `make setup` uses: it is removed together with the `.venv` of its checkout.
    """
    if chosen := named_path(environ, "MPIRIC_MPI_HOME"):
        return (chosen,)
    data, of_python = user_directory_or_passwd(environ, "data"), Path(sys.prefix) / "share/mpiric/mpi"
    return (Path(data) / "mpiric/mpi", of_python) if data else (of_python,)


def installed_prefixes(environ: Mapping[str, str]) -> dict[str, Path]:
    """Return the prefix of each MPI library from PyPI by label; the first home has precedence.

    Prefixes in the data directory that belong to a user other than this one or root are ignored.
    """
    prefixes: dict[str, Path] = {}
    for home in homes(environ):
        is_chosen = bool(environ.get("MPIRIC_MPI_HOME")) or home.is_relative_to(sys.prefix)
        for mark in sorted(home.glob(f"[!.]*/{MARK}")):
            if is_chosen or mark.parent.stat().st_uid in (0, os.geteuid()):
                prefixes.setdefault(mark.parent.name, mark.parent)
    return prefixes
