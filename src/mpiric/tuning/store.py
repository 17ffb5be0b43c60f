"""Store: a directory per tune with a log in append-only JSON Lines, so that nothing is lost.

``<store>/<time>-<program>-<random>/events.jsonl`` has one event per line, each written by one write() in
append mode and flushed to the disk. A line cut short by kill -9 or a full disk is skipped by the reader and
does not affect other lines. No database: such files are safe on NFS and Lustre, and readable with less.

The lock of a directory is a file with host and process, created by link(): NFS and Lustre may have no flock.
"""

import errno
import json
import logging
import os
import re
import secrets
import socket
import stat
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import psutil

from mpiric.host.command_log import masked
from mpiric.host.files import is_file
from mpiric.host.owned_files import open_directory, open_new, open_own
from mpiric.host.user_directories import user_directory_or_passwd
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, NoRoomError, NotFoundError
from mpiric.model.evidence import Verdict
from mpiric.model.json_text import parse_json
from mpiric.model.run import Trial
from mpiric.tuning.events import TuneEvents, read_log, trial_to_json

LOG = logging.getLogger(__package__)
EVENTS = "events.jsonl"
_GROUP_AND_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# Set in a job of `--submit`: a name that one running job has at a time. A job whose name is a prefix of
# another's runs only after that one has ended.
_SUBMISSION = "MPIRIC_SUBMISSION"
_LONGEST_LOCK = 1 << 16


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
            if _create_lock(path, text):
                return Lock(path, text)
            if holder := Lock.holder(path):
                raise MpiricError(
                    f"another mpiric works on {path.parent} ({holder})",
                    hint=f"if that process has certainly ended, delete {path}",
                )
            _remove_dead_lock(path)
        raise MpiricError(
            f"cannot take the lock {path}: other processes take it at the same time", hint="try again"
        )

    @staticmethod
    def holder(path: Path) -> str:
        """Return the host and process that hold the lock; "" if there is none or it has ended.

        A process of another host cannot be checked, so that it counts as running, unless it belongs to a job
        that the scheduler has restarted on this host.
        """
        text = _read_lock(path)
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
        if _read_lock(self._path) == self._text:
            self._path.unlink(missing_ok=True)


def _create_lock(path: Path, text: str) -> bool:
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


def _remove_dead_lock(path: Path) -> None:
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


def _read_lock(path: Path) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor) as file:
            return file.read(_LONGEST_LOCK) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except (OSError, UnicodeDecodeError):
        return None


def process_started(pid: int) -> float:
    """Return the start time of a process, which distinguishes it from a later one; 0 if it has ended."""
    try:
        return round(psutil.Process(pid).create_time(), 1)
    except (psutil.Error, ValueError, OverflowError):
        return 0.0


def default_store() -> Path:
    """Return ``$XDG_STATE_HOME/mpiric/tunes``; a user without a home directory cannot write there."""
    state = user_directory_or_passwd(os.environ, "state") or "/nonexistent/.local/state"
    return Path(state) / "mpiric/tunes"


@dataclass(frozen=True)
class TuneSummary:
    """Tune of the store, as `mpiric history` lists it."""

    path: Path
    job: str  # fingerprint of the job
    started_at: str
    command: tuple[str, ...]
    finished: bool
    undecided: bool  # the budget ended before a verdict, so that the proof can be continued
    running: str  # "host, process 123" while a process works on it, otherwise ""
    trials: int
    damaged_lines: int
    result: Mapping[str, Any]  # result as in `mpiric tune --json`; empty if the tune did not end


class TuneLog:
    """Log of a tune, open for writing; holds the lock of the tune until it is closed."""

    def __init__(self, path: Path, lock: Lock) -> None:
        LOG.info("append to: %s", path / EVENTS)
        self.path = path.absolute()  # ranks in other directories write below it
        self._lock = lock
        try:
            self._file = _open_to_append(path / EVENTS)
        except OSError as error:
            lock.release()
            raise _no_room(path, error) from error

    def append(self, event: str, fields: Mapping[str, object]) -> None:
        """Write one event to the disk. Raises NoRoomError and removes an incomplete line."""
        at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        document = {"event": event, "at": at, **fields}
        line = (json.dumps(document, ensure_ascii=False, allow_nan=True) + "\n").encode("utf-8", "replace")
        before = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
            if written < len(line):
                os.write(self._file, line[written:])  # completes the line, or raises the reason
            os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):  # the reader skips an incomplete line
                os.ftruncate(self._file, before)
            raise _no_room(self.path, error) from error

    def append_trial(self, trial: Trial) -> None:
        """Write one trial."""
        self.append("trial", trial_to_json(trial))

    def read(self) -> TuneEvents:
        """Read all events so far, of this and of earlier processes."""
        return read_log(self.path / EVENTS)

    def close(self) -> None:
        """Release the lock, so that others may continue the tune."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            self._lock.release()

    def __enter__(self) -> "TuneLog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Store:
    """Tunes of one directory."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or default_store()

    def create(self, program: str, job: str, command: tuple[str, ...], **meta: object) -> TuneLog:
        """Start a tune in a new directory. ``job`` is the fingerprint by which `latest` selects tunes."""
        label = re.sub(r"[^A-Za-z0-9_.-]+", "-", program).strip("-.")[:40] or "program"
        name = f"{datetime.now(timezone.utc):%Y%m%d-%H%M%S}-{label}-{secrets.token_hex(3)}"
        return _open(
            self.root / name, {"job": job, "program": program, "command": list(masked(command)), **meta}
        )

    @staticmethod
    def part(path: Path, **meta: object) -> TuneLog:
        """Open or create a part of a tune in this directory."""
        return _open(path, meta)

    def resume(self, path: Path) -> TuneLog:
        """Continue a tune. Raises MpiricError while another process works on it."""
        if not is_file(path / EVENTS):
            raise NotFoundError(
                f"no tune in {path}", hint="`mpiric history` lists tunes; name another store with --store DIR"
            )
        try:
            lock = Lock.take(path / "lock")
        except OSError as error:
            raise _no_room(path, error) from error
        return TuneLog(path, lock)

    def tunes(self) -> tuple[TuneSummary, ...]:
        """Return all tunes, oldest first."""
        try:
            paths = sorted(path for path in self.root.iterdir() if is_file(path / EVENTS))
        except OSError:
            return ()
        return tuple(map(_summary, paths))

    def latest(self, job: str) -> TuneSummary:
        """Return the newest tune of this job that is interrupted or undecided, and not in use."""
        of_job = [tune for tune in self.tunes() if tune.job == job]
        free = [tune for tune in of_job if (tune.undecided or not tune.finished) and not tune.running]
        if free:
            return free[-1]
        running = next((tune.running for tune in of_job if tune.running), "")
        if running:
            raise MpiricError(
                f"the tune of this command is still running ({running})", hint="wait for it, or end it"
            )
        raise NotFoundError(
            f"no interrupted or undecided tune of this command in {self.root}",
            hint="start one without --resume, or name its store with --store DIR",
        )


def _open(path: Path, meta: Mapping[str, object]) -> TuneLog:
    try:
        make_directory(path)
        lock = Lock.take(path / "lock")
    except OSError as error:
        raise _no_room(path.parent, error) from error
    log = TuneLog(path, lock)
    try:
        if not log.read().meta:
            log.append("meta", meta)
    except BaseException:
        log.close()
        raise
    return log


def make_directory(path: Path) -> None:
    """Create a directory of a store, writable by the user only; in the default store also readable only.

    A default store that others can access (earlier version, other umask) is closed. A store that the user
    named keeps its mode. Raises OSError.
    """
    user_store = default_store()
    is_default = path.is_relative_to(user_store)
    if is_default:
        user_store.parent.mkdir(parents=True, exist_ok=True)
        user_store.mkdir(mode=0o700, exist_ok=True)
        # It may be a link, or owned by another user: XDG_STATE_HOME may name a shared directory.
        with suppress(OSError):
            descriptor = open_directory(user_store)
            try:
                mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
                if mode & _GROUP_AND_OTHERS:
                    os.fchmod(descriptor, mode & ~_GROUP_AND_OTHERS)
            finally:
                os.close(descriptor)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700 if is_default else 0o755, exist_ok=True)


def _summary(path: Path) -> TuneSummary:
    log = read_log(path / EVENTS)
    command = log.meta.get("command", [])
    return TuneSummary(
        path=path,
        job=str(log.meta.get("job", "")),
        started_at=str(log.meta.get("at", "")),
        command=tuple(str(word) for word in command) if isinstance(command, list) else (),
        finished=log.is_finished,
        undecided=log.result.get("verdict", "") in {state.value for state in Verdict if state.is_open},
        running=Lock.holder(path / "lock"),
        trials=len(log.trials),
        damaged_lines=log.damaged_lines,
        result=log.result,
    )


def _open_to_append(path: Path) -> int:
    """Open for appending; an incomplete last line is ended first."""
    descriptor = open_own(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            os.write(descriptor, b"\n")
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _no_room(path: Path, error: OSError) -> NoRoomError:
    reason = "the disk is full" if error.errno in _NO_SPACE else (error.strerror or str(error))
    return NoRoomError(
        f"cannot write to the store {path}: {reason}", hint="name another directory with --store DIR"
    )
