"""Lock for file systems without flock (NFS, Lustre): a file created by link() with host and process."""

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

# Set in a job of `--submit`: a name that one running job has at a time. A job whose name is a prefix of
# another's runs only after that one has ended.
_SUBMISSION = "MPIRIC_SUBMISSION"
_LONGEST = 1 << 16


class Lock:
    """Lock of a directory, held from `take` to `release`."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    @staticmethod
    def take(path: Path) -> "Lock":
        """Take the lock, also from a dead process of this host. Raises MpiricError if it is held."""
        owner = {"host": socket.gethostname(), "pid": os.getpid(), "started": process_started(os.getpid())}
        owner["submission"] = os.environ.get(_SUBMISSION, "")
        text = json.dumps({**owner, "token": secrets.token_hex(8)})
        for _ in range(5):
            if _create(path, text):
                return Lock(path, text)
            if holder := Lock.holder(path):
                raise MpiricError(
                    f"another mpiric works on {path.parent} ({holder})",
                    hint=f"if that process has certainly ended, delete {path}",
                )
            _remove_dead(path)
        raise MpiricError(
            f"cannot take the lock {path}: other processes take it at the same time", hint="try again"
        )

    @staticmethod
    def holder(path: Path) -> str:
        """Return the host and process that hold the lock; "" if there is none or it has ended.

        A process of another host cannot be checked, so that it counts as running, unless it belongs to a job
        that the scheduler has restarted on this host.
        """
        text = _read(path)
        if text is None:
            return ""
        try:
            owner = parse_json(text, constants=False)
            host, pid, started = str(owner["host"]), int(owner["pid"]), float(owner["started"])
            submission = str(owner.get("submission", ""))
        except (ValueError, KeyError, TypeError):
            return ""  # incomplete: its writer died within one short write
        if host == socket.gethostname() and process_started(pid) != started:
            return ""
        current = os.environ.get(_SUBMISSION)
        if current and submission.startswith(current) and pid != os.getpid():
            return ""
        return f"{host}, process {pid}"

    def release(self) -> None:
        """Release the lock; nothing happens if another process has taken it over."""
        if _read(self._path) == self._text:
            self._path.unlink(missing_ok=True)


def _create(path: Path, text: str) -> bool:
    """Write a private file and link it, which is atomic on NFS too; return whether the lock was free."""
    private = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
    try:
        with os.fdopen(open_new(private, 0o644), "w") as file:
            file.write(text)
        try:
            os.link(private, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            try:
                descriptor = open_new(path, 0o644)
            except FileExistsError:
                return False
            os.write(descriptor, text.encode())
            os.close(descriptor)
    finally:
        private.unlink(missing_ok=True)
    return True


def _remove_dead(path: Path) -> None:
    """Remove a dead lock; if it was replaced by a live one in the meantime, restore that."""
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
    """Return the start time of a process, which distinguishes it from a later one; 0 if it has ended."""
    try:
        return round(psutil.Process(pid).create_time(), 1)
    except (psutil.Error, ValueError, OverflowError):
        return 0.0
