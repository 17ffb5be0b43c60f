"""Rows of a table that outlive a stopped benchmark: `--resume` measures the missing ones."""

import json
import os
import subprocess
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from typing import Any

from benchmarks._report import RESULTS, commit, tell
from mpiric.model.amount import parse_duration
from mpiric.model.errors import MpiricError

Row = dict[str, Any]
_MOST_WHY = 200  # characters of the reason why a part could not be measured


def offer_parts(parser: ArgumentParser, time_limit: str = "12h") -> None:
    """Add the options of `KeptRows`."""
    parser.add_argument(
        "--time-limit", default=time_limit, help=f"begin no part after this time (default {time_limit})"
    )
    parser.add_argument("--resume", action="store_true", help="keep the parts that were measured before")


class KeptRows:
    """Rows by the name of their part; each part is saved as soon as it is measured."""

    def __init__(self, benchmark: str, arguments: Namespace) -> None:
        """Start anew, or with ``--resume`` where the previous run stopped."""
        self._path = RESULTS / f"{benchmark}{'-quick' if arguments.quick else ''}.jsonl"
        self._until = time.monotonic() + parse_duration(arguments.time_limit)
        self._parts: dict[str, list[Row]] = {}
        self._resumed: list[dict[str, Any]] = []  # saved lines of earlier runs
        self._left: list[str] = []  # parts that the time did not reach
        self._failed: list[str] = []  # parts that could not be measured, with the reason
        if not arguments.resume:
            self._path.unlink(missing_ok=True)
        if self._path.exists():
            lines = map(json.loads, self._path.read_text().splitlines())
            for line in lines:
                self._parts[line["part"]] = line["rows"]
                self._resumed.append(line)

    def add(self, part: str, measure: Callable[[], Iterable[Row]]) -> None:
        """Measure a part unless it was measured before or the time is over; print why it fails."""
        if part in self._parts:
            return
        if time.monotonic() >= self._until:
            self._left.append(part)
            return
        load = os.getloadavg()[0]
        try:
            self._parts[part] = list(measure())
        except (MpiricError, OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
            why = error.message if isinstance(error, MpiricError) else f"{type(error).__name__}: {error}"
            tell(f"{part}: {why}")
            self._failed.append(f"{part} ({' '.join(why.split())[:_MOST_WHY]})")
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            date = datetime.now(timezone.utc).isoformat(sep=" ", timespec="minutes")
            line = {"part": part, "mpiric": commit(), "load": load, "date": date, "rows": self._parts[part]}
            print(json.dumps(line), file=file)

    @property
    def rows(self) -> list[Row]:
        """The rows of all parts, in the order in which these were measured first."""
        return [row for rows in self._parts.values() for row in rows]

    def of(self, part: str) -> list[Row]:
        """Return the rows of one part; none if it was not reached."""
        return self._parts.get(part, [])

    @property
    def remark(self) -> str:
        """Return the note on missing parts and on parts of earlier runs."""
        missing = f" Not reached in time: {'; '.join(self._left)}." if self._left else ""
        missing += f" Could not be measured: {'; '.join(self._failed)}." if self._failed else ""
        if not self._resumed:
            return missing
        commits = ", ".join(sorted({str(line["mpiric"]) for line in self._resumed}))
        load = max(float(line["load"]) for line in self._resumed)
        dates = sorted(str(line["date"]) for line in self._resumed if "date" in line)
        when = f" from {dates[0]} on" if dates else ""
        return (
            f"{missing} {len(self._resumed)} of {len(self._parts)} parts are of earlier runs "
            f"({commits}{when}; load before them at most {load:.1f})."
        )
