"""Log of the measurements of a sweep."""

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
                    f"{self._path} belongs to another sweep ({first[:200]})", hint="name another --out"
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
                    into = self.fresh if entry.get("fresh") else self.measured
                    if not self.is_excluded(point):
                        if point in self.measured and not entry.get("fresh"):
                            self.repeated.add(point)
                        into[point] = times
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise MpiricError(
                f"{self._path} is damaged: {error}", hint="start again without --resume"
            ) from error

    def add(self, point: SweepPoint, times: Measured) -> None:
        """Record the times of a point, unless its candidate is excluded."""
        if self.is_excluded(point):
            return
        if point in self.measured:
            self.repeated.add(point)
        self.measured[point] = times
        self._write(point, times, fresh=False)

    def add_fresh(self, point: SweepPoint, times: Measured) -> None:
        """Record the confirmation of a point, unless its candidate is excluded."""
        if self.is_excluded(point):
            return
        self.fresh[point] = times
        self._write(point, times, fresh=True)

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
            for point in [
                point for point in times if f"{point.subject.collective} {point.candidate}" == name
            ]:
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
