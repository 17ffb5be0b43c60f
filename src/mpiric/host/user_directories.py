"""Directories from environment variables, also of MPI libraries, and files in the cache directory.

Relative paths are ignored or rejected. Cached files are written atomically and not writable by other users.
"""

import os
import pwd
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from mpiric.model.errors import MpiricError

# XDG Base Directory Specification: "All paths must be absolute"; relative ones are ignored.
_XDG = {
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "state": ("XDG_STATE_HOME", ".local/state"),
}
_SEARCH_PATHS = ("PATH", "LD_LIBRARY_PATH")


def user_directory(environ: Mapping[str, str], kind: str) -> str:
    """Return the user's directory for ``cache``, ``config``, ``data`` or ``state``, "" without a home."""
    variable, below_home = _XDG[kind]
    if (named := environ.get(variable, "")).startswith("/"):
        return named
    home = environ.get("HOME", "")
    return f"{home}/{below_home}" if home.startswith("/") else ""


def user_directory_or_passwd(environ: Mapping[str, str], kind: str) -> str:
    """Like `user_directory`, but below the home of the password database where HOME is not set."""
    if directory := user_directory(environ, kind):
        return directory
    try:
        return f"{pwd.getpwuid(os.getuid()).pw_dir}/{_XDG[kind][1]}"
    except KeyError:  # a user by number, as containers have them
        return ""


def probe_environment(
    environ: Mapping[str, str], changes: Mapping[str, str | None] | None = None
) -> dict[str, str]:
    """Return the environment for commands of mpiric: search paths without the working directory.

    An empty entry of PATH or LD_LIBRARY_PATH means the working directory, often by accident
    (``PATH=$PATH:``).
    """
    merged = {**environ, **(changes or {})}
    for name in _SEARCH_PATHS:
        merged[name] = ":".join(filter(None, (merged.get(name) or "").split(":"))) or None
    return {name: value for name, value in merged.items() if value is not None}


def has_relative_library_path(environ: Mapping[str, str]) -> bool:
    """Return whether this process would load libraries from its working directory."""
    path = environ.get("LD_LIBRARY_PATH", "")
    return bool(path) and any(not entry.startswith("/") for entry in path.replace(";", ":").split(":"))


def named_path(environ: Mapping[str, str], variable: str) -> Path | None:
    """Return the path in a variable of mpiric, None if it is unset or empty. Raises MpiricError."""
    text = environ.get(variable, "")
    if not text:
        return None
    path = Path(text)
    if text.startswith("~"):
        path = path.expanduser()
    if not path.is_absolute():
        raise MpiricError(
            f"{variable} must be an absolute path, not {text!r}", hint=f"export {variable}=/absolute/path"
        )
    return path


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


def cache_directory(environ: Mapping[str, str]) -> str:
    """Return mpiric's cache directory; "" without a home, because shared directories are not trusted."""
    root = user_directory(environ, "cache")
    return f"{root}/mpiric" if root else ""


def read_cached(path: str) -> str | None:
    """Return the text of a file that only this user can change, None for any other."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, encoding="utf-8", errors="surrogateescape") as file:
            state = os.fstat(descriptor)
            is_safe = stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid()
            return file.read() if is_safe and not state.st_mode & 0o022 else None
    except (OSError, ValueError):
        return None


def write_cached(path: str, text: str) -> None:
    """Write a file atomically. Errors are ignored: without a cache mpiric is only slower."""
    temporary = f"{path}.{os.getpid()}-{os.urandom(4).hex()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(text.encode(errors="surrogateescape"))
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)


def make_room(path: str, limit: int) -> None:
    """Remove the older half of a directory's files if there are more than ``limit``."""
    with suppress(OSError):
        names = os.listdir(path)
        if len(names) > limit:
            oldest = sorted(names, key=lambda name: os.stat(f"{path}/{name}").st_mtime_ns)
            for name in oldest[: len(oldest) // 2]:
                os.unlink(f"{path}/{name}")
