"""`mpiric history --explore`: what the jobs of each series prove, from their ledgers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from mpiric.host.secrets import hide, masked
from mpiric.model.errors import MpiricError
from mpiric.tuning.explore.evidence import Explored, explored
from mpiric.tuning.explore.ledger import Ledger
from mpiric.workflows.run.explore_series import all_series, ledger_in


@dataclass(frozen=True)
class ExploredSeries:
    """One series; without marks that can be read there is nothing to judge."""

    directory: Path
    ledger: Ledger
    found: Explored


def explored_history(
    store: Path | None, command: Sequence[str] = (), say: Callable[[str], None] = print
) -> tuple[ExploredSeries, ...]:
    """Every series of the store, or those of a command; the one written last at the end.

    ``say`` gets a sentence on each ledger that cannot be read.
    """
    made = []
    for directory in all_series(store):
        try:
            ledger = ledger_in(directory)
        except MpiricError as error:
            say(f"{directory} was skipped: {error.message}")
            continue
        if ledger.pair is None:
            say(f"{directory} was skipped: its first line, which names its marks, is damaged")
            continue
        if not command or hide(ledger.command) == hide(command):
            found = explored(ledger.jobs, ledger.pair, over=ledger.over)
            made.append(ExploredSeries(directory, ledger, found))
    return tuple(made)


def explored_json(series: ExploredSeries) -> dict[str, Any]:
    """Keys are a contract (docs/guides/long-programs.md)."""
    found, (low, high) = series.found, series.found.ci95
    return {
        "blocks": found.blocks,
        "ratio": found.ratio,
        "ci95": [low, high if isfinite(high) else None],
        "verdict": found.verdict.value,
        "ended_because": found.ended_because or None,
        "unknown": found.unknown,
        "jobs": len(series.ledger.jobs),
        "command": list(masked(series.ledger.command)),
        "recipe": series.ledger.recipe,
        "ledger": str(series.directory),
        "damaged_lines": series.ledger.damaged_lines,
    }


def explored_lines(series: Sequence[ExploredSeries]) -> Iterator[str]:
    """Two lines a series for people."""
    if not series:
        yield "no explored jobs yet; `mpiric run --explore -- CMD` makes them"
    for each in series:
        found, (low, high) = each.found, each.found.ci95
        yield " ".join(masked(each.ledger.command))
        interval = f" [{low:.2f}, {high:.2f}]" if isfinite(high) else ""
        ratio = f"{found.ratio:.2f}× per step{interval}  " if found.ratio is not None else ""
        unknown = f", {found.unknown} of which nothing is known" if found.unknown else ""
        state = found.ended_because or "goes on"
        yield f"  {ratio}{found.verdict.value}  ({found.blocks} blocks of two jobs{unknown}; {state})"
        if damaged := each.ledger.damaged_lines:
            lines = "1 line" if damaged == 1 else f"{damaged} lines"
            yield f"  {lines} of {each.directory} cut short and not counted"
