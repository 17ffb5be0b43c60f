"""`mpiric history --explore`: results of explored jobs, from the ledger of each series."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from mpiric.host.secrets import hide, masked
from mpiric.model.amount import counted
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.tuning.exploration import Explored, Ledger, explored
from mpiric.workflows.run.explore_series import all_series, ledger_in


@dataclass(frozen=True)
class ExploredSeries:
    """A series with its ledger and its result."""

    directory: Path
    ledger: Ledger
    result: Explored


def explored_history(
    store: Path | None, command: Sequence[str] = (), say: Callable[[str], None] = print
) -> tuple[ExploredSeries, ...]:
    """Return the series of a command, or all series of the store, ordered by the last change.

    ``say`` gets a message about each ledger that cannot be read.
    """
    series = []
    for directory in all_series(store):
        try:
            ledger = ledger_in(directory)
        except MpiricError as error:
            say(f"{directory} was skipped: {error.message}")
            continue
        if ledger.pair is None:
            say(f"{directory} was skipped: its first line, which names the step marker, is damaged")
            continue
        if not command or hide(ledger.command) == hide(command):
            result = explored(ledger.jobs, ledger.pair, over=ledger.over)
            series.append(ExploredSeries(directory, ledger, result))
    return tuple(series)


def explored_json(series: ExploredSeries) -> dict[str, Any]:
    """Return a series as JSON object with stable keys (docs/guides/long-programs.md)."""
    result, (low, high) = series.result, series.result.ci95
    return {
        "blocks": result.blocks,
        "ratio": result.ratio,
        "ci95": [low, high if isfinite(high) else None],
        "verdict": result.verdict.value,
        "ended_because": result.ended_because or None,
        "unknown": result.unknown,
        "jobs": len(series.ledger.jobs),
        "command": list(masked(series.ledger.command)),
        "recipe": series.ledger.recipe,
        "ledger": str(series.directory),
        "damaged_lines": series.ledger.damaged_lines,
        "failures": [
            {"job": job.job, "status": job.end.status, "cause": job.end.cause}
            for job in series.ledger.jobs
            if job.end is not None and job.end.cause
        ],
    }


def explored_lines(series: Sequence[ExploredSeries]) -> Iterator[str]:
    """Yield two lines of text for each series."""
    if not series:
        yield "no explored jobs yet; run some with `mpiric run --explore -- CMD`"
    for item in series:
        result, (low, high) = item.result, item.result.ci95
        yield " ".join(masked(item.ledger.command))
        interval = f" [{low:.2f}, {high:.2f}]" if isfinite(high) else ""
        ratio = f"{result.ratio:.2f}× per step{interval}  " if result.ratio is not None else ""
        unknown = f", {result.unknown} with unknown result" if result.unknown else ""
        state = result.ended_because or "continues"
        yield f"  {ratio}{result.verdict.value}  ({result.blocks} blocks of two jobs{unknown}; {state})"
        causes = Counter(job.end.cause for job in item.ledger.jobs if job.end is not None and job.end.cause)
        for cause, count in causes.items():
            yield f"  {counted(count, 'job')} failed: {cause}"
        if damaged := item.ledger.damaged_lines:
            lines = "1 line" if damaged == 1 else f"{damaged} lines"
            yield f"  {lines} of {item.directory} damaged and ignored"
