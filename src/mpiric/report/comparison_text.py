"""Comparison of two records as text and JSON."""

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mpiric.model.amount import seconds, share, size
from mpiric.model.profile import PER_STEP, Comparison, QuantityChange
from mpiric.report._pages import count, page

_FORMS = {"ranks": count, "wall time": seconds, PER_STEP: seconds, "peak memory of a rank": size}
_MAX_FUNCTIONS = 8


def headline_value(value: float, name: str) -> str:
    """Format a value of the headline in its unit; values without a unit are shares."""
    return _FORMS.get(name, share)(value)


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print headline, functions and advice."""
    console.print(Text(f"A  {comparison.labels[0]}\nB  {comparison.labels[1]}", style="bold"))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    for heading in ("A", "B", "B / A"):
        table.add_column(heading, justify="right", no_wrap=True)
    for change in comparison.headline:
        table.add_row(
            change.name,
            *(headline_value(value, change.name) for value in (change.before, change.after)),
            _ratio(change),
        )
    table.add_section()
    for change in comparison.functions[:_MAX_FUNCTIONS]:
        table.add_row(
            f"{change.name}, per rank", seconds(change.before), seconds(change.after), _ratio(change)
        )
    console.print(table)
    for says in comparison.advice_gone:
        console.print(Text(f"no longer: {says}", style="green"))
    for says in comparison.advice_new:
        console.print(Text(f"new: {says}", style="yellow"))


def _ratio(change: QuantityChange) -> str:
    return "–" if change.ratio is None else f"{change.ratio:.2f}"


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as JSON. Keys may be added but not renamed (docs/guides/profile.md)."""

    def rows(changes: tuple[QuantityChange, ...]) -> list[dict[str, Any]]:
        return [{"name": c.name, "before": c.before, "after": c.after, "ratio": c.ratio} for c in changes]

    return {
        "records": list(comparison.labels),
        "headline": rows(comparison.headline),
        "functions": rows(comparison.functions),
        "calls": rows(comparison.calls),
        "sizes": rows(comparison.sizes),
        "advice_gone": list(comparison.advice_gone),
        "advice_new": list(comparison.advice_new),
    }


def comparison_html(comparison: Comparison, version: str) -> str:
    """Render the page."""
    return page(
        "comparison.html",
        comparison=comparison,
        version=version,
        headline=headline_value,
        time=lambda value, _: seconds(value),
        number=lambda value, _: count(value),
        bytes=lambda value, _: size(value),
    )
