"""Every measurement of a sweep on disk as it is made."""

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from mpiric.host.files import is_file, read_bounded
from mpiric.host.owned_files import open_own, write_whole
from mpiric.model.errors import MismatchError, MpiricError, writing
from mpiric.model.json_text import parse_json, read_fields
from mpiric.model.policy import Measured, Shape
from mpiric.tuning.policy.sampling import Subject, SweepPoint
from mpiric.workflows.sweep.plan import SweepPlan

_MOST_BYTES = 1 << 30


class Log:
    """Every measurement, written as it is made, so that a sweep can go on where it was interrupted."""

    def __init__(self, path: Path, plan: SweepPlan, *, resume: bool) -> None:
        self._path = path
        self.measured: dict[SweepPoint, Measured] = {}
        self.fresh: dict[SweepPoint, Measured] = {}  # of what seemed to win, measured once more
        self.repeated: set[SweepPoint] = set()  # measured a second time, as the first time was disturbed
        self.excluded: dict[str, str] = {}  # "bcast library:ring" → why; no measurement of it is kept
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
        whole = text[: text.rfind("\n") + 1]
        if whole != text:  # the last line was cut off while it was written
            write_whole(self._path, whole.encode())
        first, *rows = whole.splitlines() or ["{}"]
        try:
            if parse_json(first) != head:
                raise MismatchError(
                    f"{self._path} is of another sweep ({first[:200]})", hint="name another --out"
                )
            for row in rows:
                known = _renamed(parse_json(row))
                if "excluded" in known:
                    self._forget(str(known["excluded"]), str(known["why"]))
                    continue
                subject = Subject(str(known["collective"]), read_fields(Shape, known["shape"]))
                if subject in subjects:
                    times = read_fields(Measured, known["times"])
                    if not isinstance(known["size"], int):
                        raise ValueError("a size is not an integer")
                    point = SweepPoint(subject, known["size"], times.name)
                    into = self.fresh if known.get("fresh") else self.measured
                    if not self.is_excluded(point):
                        if point in self.measured and not known.get("fresh"):
                            self.repeated.add(point)
                        into[point] = times
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise MpiricError(f"{self._path} is damaged: {error}", hint="leave --resume out") from error

    def add(self, point: SweepPoint, times: Measured) -> None:
        """Remember it, here and on disk; not of a candidate that is excluded."""
        if self.is_excluded(point):
            return
        if point in self.measured:
            self.repeated.add(point)
        self.measured[point] = times
        self._write(point, times, fresh=False)

    def add_fresh(self, point: SweepPoint, times: Measured) -> None:
        """The same for a confirmation."""
        if self.is_excluded(point):
            return
        self.fresh[point] = times
        self._write(point, times, fresh=True)

    def is_excluded(self, point: SweepPoint) -> bool:
        """Whether the candidate failed somewhere."""
        return f"{point.subject.collective} {point.candidate}" in self.excluded

    def exclude(self, collective: str, candidate: str, why: str) -> None:
        """Exclude a candidate that failed once: it is not chosen, and not tried when the sweep goes on."""
        self._forget(f"{collective} {candidate}", why)
        self._append({"excluded": f"{collective} {candidate}", "why": why})

    def _forget(self, name: str, why: str) -> None:
        self.excluded[name] = why
        for times in (self.measured, self.fresh):
            for point in [each for each in times if f"{each.subject.collective} {each.candidate}" == name]:
                del times[point]

    def _write(self, point: SweepPoint, times: Measured, *, fresh: bool) -> None:
        self._append(
            {
                "fresh": fresh,
                "collective": point.subject.collective,
                "shape": vars(point.subject.shape),
                "size": point.size,
                "times": vars(times),
            }
        )

    def _append(self, known: Mapping[str, object]) -> None:
        with writing(self._path, "make room, then go on with --resume"):
            descriptor = open_own(self._path, os.O_WRONLY | os.O_APPEND)
            with os.fdopen(descriptor, "a") as file:
                file.write(json.dumps(known) + "\n")


def _renamed(row: dict[str, Any]) -> dict[str, Any]:
    """Give a row of an older log the names of today."""
    if "given_up" in row:
        row["excluded"] = row.pop("given_up")
    if "place" in row.get("shape", {}):
        row["shape"]["placement"] = row["shape"].pop("place")
    return row
