"""The steps of recorded runs as a baseline: what `mpiric profile` wrote on some day."""

from collections.abc import Iterator
from pathlib import Path

from mpiric.host.files import is_directory
from mpiric.model.errors import MpiricError
from mpiric.model.pace import KeyPace, MarkKey, RunPace
from mpiric.profile.pace import run_pace
from mpiric.profile.read import read_record
from mpiric.tuning.marks.choice import MarkChoice, choose_key, without_library_places
from mpiric.tuning.marks.later_pace import per_mark_s
from mpiric.tuning.marks.window import MarkWindow, choose_window

RECORD = "record.mpiric"
_BUDGET_S = 600.0  # of the runs of today, which bounds the window
_HINT = "`mpiric profile` the same command several times, into directories of one directory"


def records_at(path: Path) -> tuple[Path, ...]:
    """The records that a path names: a merged file, or all below a directory."""
    if is_directory(path):
        return tuple(sorted(path.rglob(RECORD)))
    return (path,) if path.name == RECORD else ()


def recorded_steps(records: tuple[Path, ...]) -> tuple[MarkChoice, MarkWindow, tuple[float, ...]]:
    """What counts the steps of recorded runs, two marks among them, and each run's seconds per mark.

    Raises MpiricError for runs without such calls.
    """
    runs = [without_library_places(run_pace(read_record(path))) for path in records]
    choice = choose_key(runs[0])
    if choice.key is None:
        raise MpiricError(f"nothing counts the steps of {records[0]}: {choice.why}", hint=_HINT)
    paces = tuple(_paces(choice.key, runs, records))
    window = choose_window(paces, _BUDGET_S)
    steps = [per_mark_s(pace, window.first, window.last) if window else None for pace in paces]
    if window is None or None in steps:
        raise MpiricError(f"too few steps were seen in {records[0]}", hint=_HINT)
    return choice, window, tuple(step for step in steps if step is not None)


def _paces(key: MarkKey, runs: list[RunPace], records: tuple[Path, ...]) -> Iterator[KeyPace]:
    for run, path in zip(runs, records, strict=True):
        pace = run.first_rank.of(key) if run.first_rank else None
        if pace is None:
            raise MpiricError(
                f"{path} has other calls than {records[0]}: it is of another program", hint=_HINT
            )
        yield pace
