"""The steps of recorded runs as a baseline: what `mpiric profile` wrote on some day."""

from collections.abc import Iterator
from pathlib import Path

from mpiric.host.files import is_directory
from mpiric.model.errors import MpiricError
from mpiric.model.pace import KeyPace, MarkKey, RunPace
from mpiric.profile.pace import run_pace
from mpiric.profile.read import read_record
from mpiric.tuning.marks.choice import MarkChoice, choose_key, with_own_places
from mpiric.tuning.marks.later_pace import per_mark_s
from mpiric.tuning.marks.window import MarkWindow, choose_window

RECORD = "record.mpiric"
_BUDGET_S = 600.0  # time for the new runs, which bounds the window
_PROFILE_HINT = (
    "record the command several times: mpiric profile -o DIR/1 -- CMD, mpiric profile -o DIR/2 -- CMD"
)


def records_at(path: Path) -> tuple[Path, ...]:
    """Return the records that a path names: a merged file, or all below a directory."""
    if is_directory(path):
        return tuple(sorted(path.rglob(RECORD)))
    return (path,) if path.name == RECORD else ()


def recorded_steps(records: tuple[Path, ...]) -> tuple[MarkChoice, MarkWindow, tuple[float, ...]]:
    """Return the step marker of recorded runs, a window of steps, and the seconds per step of each run.

    Raises MpiricError if no call marks the steps.
    """
    runs = [with_own_places(run_pace(read_record(path))) for path in records]
    choice = choose_key(runs[0])
    if choice.key is None:
        raise MpiricError(f"no step marker in {records[0]}: {choice.why}", hint=_PROFILE_HINT)
    paces = tuple(_paces(choice.key, runs, records))
    window = choose_window(paces, _BUDGET_S)
    steps = [per_mark_s(pace, window.first, window.last) if window else None for pace in paces]
    if window is None or None in steps:
        raise MpiricError(f"{records[0]} has too few steps", hint=_PROFILE_HINT)
    return choice, window, tuple(step for step in steps if step is not None)


def _paces(key: MarkKey, runs: list[RunPace], records: tuple[Path, ...]) -> Iterator[KeyPace]:
    for run, path in zip(runs, records, strict=True):
        pace = run.first_rank.of(key) if run.first_rank else None
        if pace is None:
            raise MpiricError(
                f"{path} and {records[0]} have different calls and belong to different programs",
                hint=_PROFILE_HINT,
            )
        yield pace
