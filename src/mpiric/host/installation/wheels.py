"""Wheels as containers of files: fetched by pip, verified against their RECORD, unpacked under a prefix."""

import base64
import csv
import errno
import hashlib
import io
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from mpiric.model.errors import MpiricError, NoRoomError, NotFoundError

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


def fetch_wheels(requirements: Sequence[str], into: Path) -> tuple[Path, ...]:
    """Bring one wheel for each requirement, without what it depends on, in the order asked for.

    pip is run apart from the user's environment (``-I``), with its own configuration of indexes
    and mirrors. It works below ``into``, so that one file system decides whether there is room.
    """
    into.mkdir(parents=True, exist_ok=True)
    wheels = []
    for requirement in requirements:
        place = into / requirement.split("=")[0]
        _run_pip(requirement, place)
        wheels.append(next(place.glob("*.whl")))
    return tuple(wheels)


def _run_pip(requirement: str, place: Path) -> None:
    pip = [sys.executable, "-I", "-m", "pip", "--disable-pip-version-check", "--no-input", "--retries", "1"]
    words = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(place), requirement]
    scratch = place.with_name(place.name + ".tmp")
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(
            [*pip, *words],
            env={**os.environ, "TMPDIR": str(scratch)},
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


def _pip_error(requirement: str, words: str) -> MpiricError:
    """What pip's complaint means to the user."""
    if "No module named pip" in words:
        return NotFoundError(
            f"{sys.executable} has no pip, which brings {requirement}",
            hint=f"run '{sys.executable} -m ensurepip', or 'apt install python3-pip python3-venv' on Debian",
        )
    if "No space left on device" in words or "Disk quota exceeded" in words:
        return NoRoomError(f"no room on the disk for {requirement}", hint="free some, or set MPIRIC_MPI_HOME")
    if any(sign in words for sign in _UNREACHABLE):
        return NotFoundError(
            f"{requirement} cannot be fetched: the package index is out of reach", hint=_OFFLINE_HINT
        )
    if "No matching distribution" in words:
        python = f"Python {sys.version.split()[0]} on {os.uname().machine}"
        return NotFoundError(
            f"the package index has no wheel of {requirement} for {python}",
            hint="mpiric also works with an MPI installed otherwise: see 'mpiric mpi list'",
        )
    last = next((line for line in reversed(words.splitlines()) if line.strip()), "no reason given")
    return NotFoundError(f"pip could not fetch {requirement}: {last.strip()}", hint=_OFFLINE_HINT)


def unpack_wheel(wheel: Path, prefix: Path, moves: Mapping[str, str]) -> int:
    """Unpack the data scheme of a wheel under a prefix; every file must be what RECORD says it is.

    ``moves`` says which files, by how their path begins there, and how it begins under the prefix;
    ``{"": ""}`` is all of them. Modes are kept. Returns the number of files.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            digests = _recorded_digests(archive)
            return sum(_unpack_member(archive, info, digests, prefix, moves) for info in archive.infolist())
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise MpiricError(
            f"{wheel.name} is damaged: {error}", hint="run it again to fetch another copy"
        ) from error
    except OSError as error:
        raise no_room_or(error, prefix) from error


def _recorded_digests(archive: zipfile.ZipFile) -> dict[str, str]:
    record = next(name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
    rows = csv.reader(io.StringIO(archive.read(record).decode()))
    return {row[0]: row[1] for row in rows if len(row) > 1}


def _unpack_member(
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    digests: Mapping[str, str],
    prefix: Path,
    moves: Mapping[str, str],
) -> int:
    _, scheme, path = info.filename.partition(".data/data/")
    start = next((start for start in moves if path.startswith(start)), None)
    if not scheme or info.is_dir() or start is None:
        return 0
    target = prefix / (moves[start] + path[len(start) :])
    if ".." in target.parts:
        raise MpiricError(f"{archive.filename} wants to write outside of its prefix: {info.filename}")
    target.parent.mkdir(parents=True, exist_ok=True)
    content = archive.read(info)
    if _digest(content) != digests[info.filename]:
        raise KeyError(f"{info.filename} is not what its RECORD says")
    target.write_bytes(content)
    target.chmod(((info.external_attr >> 16) & 0o755) | 0o644)
    return 1


def _digest(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"sha256={digest}"


def no_room_or(error: OSError, place: Path) -> Exception:
    """The user's error for a write that failed; the same error when it was something else."""
    if error.errno not in _FULL | _CLOSED:
        return error
    if error.errno in _FULL:
        free = shutil.disk_usage(_existing(place)).free >> 20
        return NoRoomError(
            f"no room for {place}: {free} MB are free there",
            hint="free some, or set MPIRIC_MPI_HOME elsewhere",
        )
    return NoRoomError(
        f"{error.filename or place} cannot be written", hint="set MPIRIC_MPI_HOME to a place that can"
    )


def _existing(place: Path) -> Path:
    return next(parent for parent in (place, *place.parents) if parent.exists())
