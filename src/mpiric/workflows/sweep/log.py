"""Directory of a sweep: its options, and the log of its measurements."""

import errno
import json
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from mpiric.host.files import is_file, read_bounded
from mpiric.host.owned_files import is_own_directory, open_own, read_own, remove_tree, write_text, write_whole
from mpiric.model.errors import MismatchError, MpiricError, NoRoomError, writing
from mpiric.model.json_text import parse_json, read_fields
from mpiric.model.policy import Measured, Shape
from mpiric.schedulers import ROUNDS
from mpiric.statistics.sampling import Subject, SweepPoint
from mpiric.tuning.store import Lock
from mpiric.workflows import policies
from mpiric.workflows.sweep.plan import SweepPlan

LOG, LOCK = "sweep.jsonl", "sweep.lock"
_OPTIONS = "options.json"
_MOST_BYTES = 1 << 30


def make_directory(directory: Path, hint: str = "name another --out") -> None:
    """Make a directory to write into. Raises NoRoomError."""
    try:
        directory.mkdir(0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise NoRoomError(f"cannot make {directory}: {error.strerror}", hint=hint) from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise NoRoomError(f"cannot write into {directory}: no permission", hint=hint)


def keep_options(directory: Path, arguments: Sequence[str]) -> None:
    """Record the options of a new sweep, for a later call that resumes it."""
    make_directory(directory)
    path = directory / _OPTIONS
    if os.path.lexists(path) and not _is_options(path):
        raise _not_ours(path)
    write_text(path, json.dumps(list(arguments)) + "\n", "name another --out")


def kept_options(directory: Path) -> tuple[str, ...]:
    """Return the saved options of this user's sweep in a directory; () if there are none."""
    try:
        arguments = parse_json(read_own(directory / _OPTIONS))
    except (OSError, ValueError):
        return ()
    return tuple(map(str, arguments)) if isinstance(arguments, list) else ()


def forget(directory: Path) -> None:
    """Remove the measurements of an earlier sweep from the directory."""
    make_directory(directory)
    if holder := Lock.holder(directory / LOCK):
        raise MpiricError(f"another sweep uses {directory} ({holder})", hint="name another --out")
    for path, is_of_sweep in ((directory / LOG, _is_log), (directory / ROUNDS, _is_rounds)):
        if os.path.lexists(path) and not is_of_sweep(path):
            raise _not_ours(path)
    with writing(directory, "name another --out"):
        (directory / LOG).unlink(missing_ok=True)
        remove_tree(directory / ROUNDS)


def check_free(directory: Path) -> None:
    """Raise MpiricError if a new sweep would overwrite files that no earlier sweep of this user wrote."""
    if _is_log(directory / LOG):
        return
    if os.path.lexists(directory / LOG):
        raise _not_ours(directory / LOG)
    policies.check_free(directory)


def _not_ours(path: Path) -> MpiricError:
    return MpiricError(
        f"{path} exists, and no sweep of yours wrote it; it would be overwritten",
        hint="name another --out",
    )


def _is_options(path: Path) -> bool:
    try:
        arguments = parse_json(read_own(path))
    except OSError as error:
        return error.errno in (errno.ELOOP, errno.EPERM)  # a file of another user is replaced, not written to
    except ValueError:
        return False
    return isinstance(arguments, list) and all(isinstance(word, str) for word in arguments)


def _is_log(path: Path) -> bool:
    try:
        return read_own(path, 8).startswith(b'{"mpi": ')
    except OSError:
        return False


def _is_rounds(path: Path) -> bool:
    """Return whether a directory holds numbered rounds and nothing else."""
    names = os.listdir(path) if is_own_directory(path, private=False) else [""]  # noqa: PTH208
    return all(name.isdecimal() for name in names)


class Log:
    """Measurements, each written at once, so that an interrupted sweep can continue."""

    def __init__(self, path: Path, plan: SweepPlan, *, resume: bool) -> None:
        self._path = path
        self.measured: dict[SweepPoint, Measured] = {}
        self.fresh: dict[SweepPoint, Measured] = {}  # repeated measurements of points with a gain
        self.repeated: set[SweepPoint] = set()  # points measured again after a disturbance
        self.excluded: dict[str, str] = {}  # "bcast library:ring" → reason; its measurements are removed
        head = {"mpi": plan.mpi.label, "ranks": len(plan.nodes), "nodes": len(set(plan.nodes))}
        with writing(path, "name another --out"):
            path.parent.mkdir(parents=True, exist_ok=True)
            if resume and is_file(path):
                self._read(head, plan.sizes.keys())
            else:
                write_whole(path, f"{json.dumps(head)}\n".encode())

    def _read(self, head: Mapping[str, object], subjects: Collection[Subject]) -> None:
        data = read_bounded(self._path, "log of a sweep", _MOST_BYTES, "name another --out")
        text = data.decode(errors="replace")
        complete = text[: text.rfind("\n") + 1]
        if complete != text:  # the last line was cut off while it was written
            write_whole(self._path, complete.encode())
        first, *rows = complete.splitlines() or ["{}"]
        try:
            if parse_json(first) != head:
                raise MismatchError(
                    f"{self._path} belongs to another sweep", hint="name another --out, or repeat its options"
                )
            for row in rows:
                entry = _renamed(parse_json(row))
                if "excluded" in entry:
                    self._forget(str(entry["excluded"]), str(entry["why"]))
                    continue
                subject = Subject(str(entry["collective"]), read_fields(Shape, entry["shape"]))
                if subject in subjects:
                    times = read_fields(Measured, entry["times"])
                    if not isinstance(entry["size"], int):
                        raise ValueError("a size is not an integer")
                    point = SweepPoint(subject, entry["size"], times.name)
                    self._take(point, times, fresh=bool(entry.get("fresh")))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise MpiricError(f"{self._path} is damaged", hint="start again without --resume") from error

    def add(self, point: SweepPoint, times: Measured, *, fresh: bool = False) -> None:
        """Record the times of a point, or its confirmation, unless its candidate is excluded."""
        if self._take(point, times, fresh=fresh):
            subject = {"collective": point.subject.collective, "shape": vars(point.subject.shape)}
            self._append({"fresh": fresh, **subject, "size": point.size, "times": vars(times)})

    def _take(self, point: SweepPoint, times: Measured, *, fresh: bool) -> bool:
        """Keep the times of a point; return whether its candidate is not excluded."""
        if self.is_excluded(point):
            return False
        if point in self.measured and not fresh:
            self.repeated.add(point)
        (self.fresh if fresh else self.measured)[point] = times
        return True

    def is_excluded(self, point: SweepPoint) -> bool:
        """Return whether the candidate of a point has failed."""
        return f"{point.subject.collective} {point.candidate}" in self.excluded

    def exclude(self, collective: str, candidate: str, why: str) -> None:
        """Exclude a candidate that failed: it is neither chosen nor tried again by a resumed sweep."""
        self._forget(f"{collective} {candidate}", why)
        self._append({"excluded": f"{collective} {candidate}", "why": why})

    def _forget(self, name: str, why: str) -> None:
        self.excluded[name] = why
        for times in (self.measured, self.fresh):
            for point in [point for point in times if self.is_excluded(point)]:
                del times[point]

    def _append(self, entry: Mapping[str, object]) -> None:
        with writing(self._path, "free space, and continue with --resume"):
            descriptor = open_own(self._path, os.O_WRONLY | os.O_APPEND)
            with os.fdopen(descriptor, "a") as file:
                file.write(json.dumps(entry) + "\n")


def _renamed(row: dict[str, Any]) -> dict[str, Any]:
    """Rename keys of a row of an older log."""
    if "given_up" in row:
        row["excluded"] = row.pop("given_up")
    if "place" in row.get("shape", {}):
        row["shape"]["placement"] = row["shape"].pop("place")
    return row
