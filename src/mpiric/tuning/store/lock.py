"""A lock that works where flock may not (NFS, Lustre): a file made by link() that names host and process."""

import json
import os
import secrets
import socket
import stat
from pathlib import Path

import psutil

from mpiric.host.owned_files import open_new
from mpiric.model.errors import MpiricError
from mpiric.model.json_text import parse_json

# In a job of `--submit`: a name of which one job runs at a time. A job whose name begins another's only
# runs when that one has ended.
_SUBMISSION = "MPIRIC_SUBMISSION"
_LONGEST = 1 << 16


class Lock:
    """Lock of a directory, held from `take` to `release`."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    @staticmethod
    def take(path: Path) -> "Lock":
        """Take the lock, also from a dead process of this host. Raises MpiricError when it is held."""
        me = {"host": socket.gethostname(), "pid": os.getpid(), "started": process_started(os.getpid())}
        me["submission"] = os.environ.get(_SUBMISSION, "")
        text = json.dumps({**me, "token": secrets.token_hex(8)})
        for _ in range(5):
            if _create(path, text):
                return Lock(path, text)
            if holder := Lock.holder(path):
                raise MpiricError(
                    f"another mpiric works on {path.parent} ({holder})",
                    hint=f"when that process is gone for certain, delete {path}",
                )
            _put_aside(path)
        raise MpiricError(f"cannot take the lock {path}", hint="others take it at the same time; try again")

    @staticmethod
    def holder(path: Path) -> str:
        """Host and process that hold it; "" for nobody, or a process of this host that is gone.

        A process of another host cannot be looked at, so it counts as alive; but not one of a job that the
        scheduler has begun again here.
        """
        text = _read(path)
        if text is None:
            return ""
        try:
            owner = parse_json(text, constants=False)
            host, pid, started = str(owner["host"]), int(owner["pid"]), float(owner["started"])
            submission = str(owner.get("submission", ""))
        except (ValueError, KeyError, TypeError):
            return ""  # torn: its writer died within one short write
        if host == socket.gethostname() and process_started(pid) != started:
            return ""
        own = os.environ.get(_SUBMISSION)
        if own and submission.startswith(own) and pid != os.getpid():
            return ""
        return f"{host}, process {pid}"

    def release(self) -> None:
        """Give it back; harmless when it was taken away."""
        if _read(self._path) == self._text:
            self._path.unlink(missing_ok=True)


def _create(path: Path, text: str) -> bool:
    """Write a private file and link it: complete or not there, and atomic on NFS too."""
    private = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
    try:
        with os.fdopen(open_new(private, 0o644), "w") as file:
            file.write(text)
        try:
            os.link(private, path)
        except FileExistsError:
            return False
        except OSError:
            return _create_without_links(path, text)
    finally:
        private.unlink(missing_ok=True)
    return True


def _create_without_links(path: Path, text: str) -> bool:
    try:
        descriptor = open_new(path, 0o644)
    except FileExistsError:
        return False
    os.write(descriptor, text.encode())
    os.close(descriptor)
    return True


def _put_aside(path: Path) -> None:
    """Remove a dead lock; a live one that came in between is put back."""
    aside = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
    try:
        path.rename(aside)
    except FileNotFoundError:
        return
    if Lock.holder(aside):
        try:
            os.link(aside, path)
        except OSError:
            return
    aside.unlink(missing_ok=True)


def _read(path: Path) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor) as file:
            return file.read(_LONGEST) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except (OSError, UnicodeDecodeError):
        return None


def process_started(pid: int) -> float:
    """Read when a process began, so that a reused number is not taken for it; 0 when it is gone."""
    try:
        return round(psutil.Process(pid).create_time(), 1)
    except (psutil.Error, ValueError, OverflowError):
        return 0.0
