"""Runs that were rejected for their output, kept so that a later run of the original can clear them.

A value that varies between runs may have been equal in all original runs so far. Whenever a run of the
original produces a different output, the rejected runs are compared again.
"""

import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path

from mpiric.model.dataclass import dataclass
from mpiric.model.trial import Outcome, Trial
from mpiric.outputs.equivalence import AcceptedDifferences
from mpiric.tuning.store.events import AMENDED
from mpiric.tuning.store.store import TuneLog

_KEPT_BYTES = 256 << 20  # total size of the kept files of rejected runs
_SUFFIX = ".rejected"
MANY = 10  # number of configurations that differ at one place; it is then doubtful if the place is a result
_RERUNS = 3  # reruns of the original for one place that differs
_MOST_RERUNS = 12


@dataclass(frozen=True)
class RejectedRun:
    """Record of a run that was rejected for its output."""

    trial: Trial  # trial with its objective, for a withdrawn rejection
    place: str  # part of the output that differs from the original
    files: Mapping[str, Path]
    accepted: AcceptedDifferences


@dataclass
class Disputes:
    """Rejected runs by trial number, and the number of reruns of the original for each place."""

    runs: dict[int, RejectedRun] = field(default_factory=dict)
    _reruns: Counter[str] = field(default_factory=Counter)
    _kept_bytes: int = 0

    def add(self, run: RejectedRun) -> None:
        """Keep a rejected run, with copies of its files within the size limit."""
        place = Path(run.trial.stdout).with_suffix(_SUFFIX)
        sizes = {name: path.stat().st_size for name, path in run.files.items()}
        if self._kept_bytes + sum(sizes.values()) > _KEPT_BYTES:
            return
        self._kept_bytes += sum(sizes.values())
        files = {}
        for name, path in run.files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            files[name] = Path(shutil.copyfile(path, place / name))
        self.runs[run.trial.number] = replace(run, files=files)

    def may_rerun(self, number: int) -> bool:
        """Return whether to run the original again before this run is rejected, and count the rerun."""
        run = self.runs.get(number)
        place = run.place if run else "(files that were too large to keep)"
        if self._reruns[place] >= _RERUNS or self._reruns.total() >= _MOST_RERUNS:
            return False
        self._reruns[place] += 1
        return True

    def cleared(self, agrees: Callable[[RejectedRun], bool]) -> list[Trial]:
        """Remove and return the runs that agree with the original after all."""
        agreeing = [run for run in self.runs.values() if agrees(run)]
        for run in agreeing:
            del self.runs[run.trial.number]
        return [run.trial for run in agreeing]

    def in_question(self) -> dict[str, list[RejectedRun]]:
        """Map each place to its runs, if too many configurations differ there for a result."""
        by_place: dict[str, list[RejectedRun]] = defaultdict(list)
        for run in self.runs.values():
            by_place[run.place].append(run)
        return {
            place: runs
            for place, runs in by_place.items()
            if len({run.trial.configuration for run in runs}) >= MANY
        }


def withdraw_rejections(log: TuneLog) -> None:
    """Mark runs that were rejected for their output for another judgement, by another rule."""
    for trial in log.read().trials:
        if trial.outcome is Outcome.DIFFERENT:
            amended = {"outcome": Outcome.INTERRUPTED.value, "reason": "is judged again with --ignore-lines"}
            log.append(AMENDED, {"number": trial.number, "objective": None, **amended})


def remove_rejected(outputs: Path) -> None:
    """Remove the copies of files of rejected runs."""
    for directory in outputs.glob(f"*{_SUFFIX}"):
        shutil.rmtree(directory, ignore_errors=True)
