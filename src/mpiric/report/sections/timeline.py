"""Activity and phase of the ranks in the course of the run."""

from collections.abc import Callable
from typing import Any

from mpiric.model.amount import seconds
from mpiric.model.profile import Profile, TimelineRow

TITLE = "Timeline of the run"
_PARTS = 8  # number of rows of the table for print
_ACTIVITIES: tuple[tuple[str, Callable[[TimelineRow], tuple[float, ...]]], ...] = (
    ("files", lambda row: row.files),
    ("point to point", lambda row: row.point_to_point),
    ("collectives", lambda row: row.collective),
    ("other MPI", lambda row: row.other_mpi),
)


def view(profile: Profile) -> dict[str, Any]:
    """Return shares of each time span by rank for the picture, their means for the chart and the table."""
    rows, span_s = profile.timeline.rows, profile.timeline.span_s
    if not rows:
        return {"parts": [], "columns": [], "phases": []}
    columns = max(len(row.region) for row in rows)
    mean = {name: _mean([value_of(row) for row in rows], columns) for name, value_of in _ACTIVITIES}
    mean = {"useful": [max(0.0, 1.0 - sum(values)) for values in zip(*mean.values(), strict=True)]} | mean
    used = sorted({region for row in rows for region in row.region})
    return {
        "columns": list(mean),
        "parts": list(_parts(mean, columns, span_s)),
        "phases": [profile.regions[at].name for at in used],
        "chart": {
            "span_s": span_s,
            "columns": columns,
            "mean": {name: _rounded(values) for name, values in mean.items()},
            "rows": [_label(row) for row in rows],
            "shares": [[_rounded(value_of(row)) for _, value_of in _ACTIVITIES] for row in rows],
            "phases": [profile.regions[at].name for at in used],
            "phase": [[used.index(region) for region in row.region] for row in rows],
        },
    }


def _mean(rows: list[tuple[float, ...]], columns: int) -> list[float]:
    """Average the rows column by column; ranks that died have shorter rows."""
    means = []
    for at in range(columns):
        values = [row[at] for row in rows if at < len(row)]
        means.append(sum(values) / len(values))
    return means


def _parts(mean: dict[str, list[float]], columns: int, span_s: float) -> Any:
    """Yield start, end and shares of activities of equal parts of the run."""
    step = -(-columns // _PARTS)
    for begin in range(0, columns, step):
        end = min(columns, begin + step)
        shares = [sum(values[begin:end]) / (end - begin) for values in mean.values()]
        yield seconds(begin * span_s), seconds(end * span_s), shares


def _label(row: TimelineRow) -> str:
    return f"{row.first_rank}" if row.first_rank == row.last_rank else f"{row.first_rank}–{row.last_rank}"


def _rounded(values: tuple[float, ...] | list[float]) -> list[float]:
    return [round(value, 3) for value in values]
