"""Atomic installation of MPI libraries from PyPI into prefixes: download and unpacking of wheels."""

import contextlib
import errno
import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from installer.records import InvalidRecordEntry, RecordEntry
from installer.sources import WheelFile
from installer.utils import copyfileobj_with_hashing

from mpiric.host.command_log import log_start
from mpiric.host.files import exists, is_directory, is_file
from mpiric.host.installation.stand_ins import loadable_directory
from mpiric.host.owned_files import open_own
from mpiric.host.user_directories import MARK, probe_environment
from mpiric.model.errors import MismatchError, MpiricError, NoRoomError, NotFoundError
from mpiric.model.mpi_library import MpiPackage, WheelPart

_FULL = {errno.ENOSPC, errno.EDQUOT}
_CLOSED = {errno.EROFS, errno.EACCES, errno.EPERM, errno.EEXIST, errno.ENOTDIR}
_UNREACHABLE = (
    "NewConnectionError",
    "name resolution",
    "ConnectTimeout",
    "ProxyError",
    "ReadTimeout",
    "timed out",
)
_FETCH_LIMIT_S = 1800


def fetch_wheels(parts: Sequence[WheelPart], into: Path) -> tuple[Path, ...]:
    """Download the wheel of each part, without dependencies; return the paths in the same order.

    A wheel with another SHA-256 than its part declares is rejected. pip runs isolated from the user's
    environment (``-I``), but with the user's configuration of indexes and mirrors. It works below ``into``,
    so that only one file system needs space.
    """
    into.mkdir(parents=True, exist_ok=True)
    wheels = []
    for part in parts:
        path = into / part.distribution
        _run_pip(part, path)
        wheels.append(next(path.glob("*.whl")))
    return tuple(wheels)


def _run_pip(part: WheelPart, path: Path) -> None:
    requirement, listed = part.requirement, path.with_name(f"{path.name}.txt")
    listed.write_text(f"{part.requirement_line}\n", encoding="ascii")
    pip = [sys.executable, "-I", "-m", "pip", "--disable-pip-version-check", "--no-input", "--retries", "1"]
    options = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(path)]
    options += [*(["--require-hashes"] if part.sha256 else []), "--requirement", str(listed)]
    scratch = path.with_name(path.name + ".tmp")
    scratch.mkdir(parents=True, exist_ok=True)
    log_start([*pip, *options])
    try:
        done = subprocess.run(
            [*pip, *options],
            env=probe_environment(os.environ, {"TMPDIR": str(scratch)}),  # PIP_FIND_LINKS may be relative
            capture_output=True,
            text=True,
            timeout=_FETCH_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NotFoundError(
            f"the download of {requirement} took more than {_FETCH_LIMIT_S // 60} minutes", hint=_OFFLINE_HINT
        ) from error
    if done.returncode:
        raise _pip_error(requirement, done.stderr)


_OFFLINE_HINT = (
    "check network and proxy, or name a mirror by PIP_INDEX_URL or a directory of wheels by PIP_FIND_LINKS"
)


def _pip_error(requirement: str, output: str) -> MpiricError:
    """Convert the error output of pip into an error for the user."""
    if "No module named pip" in output:
        return NotFoundError(
            f"{sys.executable} has no pip, which brings {requirement}",
            hint=f"run '{sys.executable} -m ensurepip', or load a module with Python and pip",
        )
    if "No space left on device" in output or "Disk quota exceeded" in output:
        return NoRoomError(f"no room on the disk for {requirement}", hint="free some, or set MPIRIC_MPI_HOME")
    if "DO NOT MATCH THE HASHES" in output:
        return MismatchError(
            f"the SHA-256 of the wheel of {requirement} in the package index differs from the known value",
            hint="take it from https://pypi.org or a mirror of it: see PIP_INDEX_URL and PIP_FIND_LINKS",
        )
    if any(sign in output for sign in _UNREACHABLE):
        return NotFoundError(
            f"{requirement} cannot be fetched: the package index is out of reach", hint=_OFFLINE_HINT
        )
    if "No matching distribution" in output:
        python = f"Python {sys.version.split()[0]} on {os.uname().machine}"
        return NotFoundError(
            f"the package index has no wheel of {requirement} for {python}",
            hint="mpiric also works with an MPI installed otherwise: see 'mpiric mpi list'",
        )
    last = next((line for line in reversed(output.splitlines()) if line.strip()), "no reason given")
    return NotFoundError(f"pip could not fetch {requirement}: {last.strip()}", hint=_OFFLINE_HINT)


def unpack_wheel(wheel: Path, prefix: Path, moves: Mapping[str, str]) -> int:
    """Unpack the data scheme of a wheel into a prefix; verify each file with RECORD.

    ``moves`` selects files by path prefix and replaces that prefix; ``{"": ""}`` selects all. Modes are
    kept. Returns the number of files.
    """
    try:
        with WheelFile.open(wheel) as source:
            data = f"{source.data_dir}/data/"
            return sum(
                _unpack_member(RecordEntry.from_elements(*row), stream, data, prefix, moves, executable)
                for row, stream, executable in source.get_contents()
            )
    except (zipfile.BadZipFile, ValueError, InvalidRecordEntry, KeyError, EOFError) as error:
        raise MpiricError(
            f"{wheel.name} is damaged: {error}", hint="run it again to fetch another copy"
        ) from error
    except OSError as error:
        raise no_room_or(error, prefix) from error


def _unpack_member(
    entry: RecordEntry,
    stream: BinaryIO,
    data: str,
    prefix: Path,
    moves: Mapping[str, str],
    executable: bool,  # noqa: FBT001
) -> int:
    path = entry.path.removeprefix(data)
    start = next((start for start in moves if path.startswith(start)), None)
    if path == entry.path or start is None:
        return 0
    target = prefix / (moves[start] + path[len(start) :])
    if (
        ".." in target.parts
        or not target.is_relative_to(prefix)
        or not target.resolve().is_relative_to(prefix.resolve())
    ):
        raise MpiricError(
            f"the package has a file outside of its prefix: {entry.path}",
            hint="take it from https://pypi.org: see PIP_INDEX_URL and PIP_FIND_LINKS",
        )
    if entry.hash_ is None or entry.hash_.name != "sha256":
        raise ValueError(f"RECORD has no SHA-256 of {entry.path}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        digest, _ = copyfileobj_with_hashing(stream, file, entry.hash_.name)
    if digest != entry.hash_.value:
        raise ValueError(f"{entry.path} is not what its RECORD says")
    target.chmod(0o755 if executable else 0o644)
    return 1


def no_room_or(error: OSError, path: Path) -> Exception:
    """Return the user's error for a failed write, or the error itself if it has another reason."""
    if error.errno not in _FULL | _CLOSED:
        return error
    if error.errno in _FULL:
        free = (
            shutil.disk_usage(next(parent for parent in (path, *path.parents) if exists(parent))).free >> 20
        )
        return NoRoomError(
            f"no room for {path}: {free} MB are free there",
            hint="free some, or set MPIRIC_MPI_HOME elsewhere",
        )
    return NoRoomError(
        f"{error.filename or path} cannot be written", hint="set MPIRIC_MPI_HOME to a directory that can"
    )


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
        for script in sorted((staged / "bin").iterdir()):
            _substitute(script, package.substitutions)
        for link, target in package.fallbacks.items():
            if not _system_has(Path(link).name):
                (staged / link).symlink_to(target)
        facts = {
            "implementation": package.implementation,
            "version": package.version,
            "wheels": [wheel.name for wheel in wheels],
        }
        (staged / MARK).write_text(json.dumps(facts) + "\n")
        # Independent of the umask: other users must not change libraries.
        for path in (staged, *staged.rglob("*")):
            if not path.is_symlink():
                path.chmod(stat.S_IMODE(path.stat().st_mode) & ~(stat.S_IWGRP | stat.S_IWOTH))
        if exists(prefix) and not is_file(prefix / MARK):
            shutil.rmtree(prefix)  # incomplete installation
        try:
            os.rename(staged, prefix)  # noqa: PTH104  Path.rename would hide which of the two paths failed
        except OSError as error:
            if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                raise  # another process without a lock has installed the same files
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _substitute(script: Path, substitutions: Mapping[str, str]) -> None:
    content = script.read_bytes()
    if not substitutions or not content.startswith(b"#!"):
        return
    for old, new in substitutions.items():
        content = content.replace(old.encode(), new.encode())
    script.write_bytes(content)


def _system_has(library: str) -> bool:
    return any(any(Path("/").glob(f"{directory}/{library}")) for directory in _SYSTEM_LIBRARIES)
