"""Result of a scaling study as text for the terminal, JSON, CSV, HTML and a paragraph for a proposal."""

import csv
import io
from math import isfinite
from typing import Any

from markupsafe import Markup
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mpiric.model.amount import counted, seconds, share, show_duration
from mpiric.model.quoting import sh_command
from mpiric.model.scaling import Interval, Scaling, SizeResult
from mpiric.report._pages import page
from mpiric.report.scale_figure import as_svg, scaling_shapes

_BAR = 10  # characters of an efficiency of 100 %
_COLUMNS = ("ranks", "nodes", "threads", "cores", "time_s", "low_s", "high_s", "speedup", "efficiency")
_MORE_COLUMNS = ("core_hours", "whole_run_s", "runs", "oversubscribed")


def print_scaling(scaling: Scaling, console: Console) -> None:
    """Print the table, the bend with its causes, predictions and recommended sizes."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    headings, rows = _table(scaling)
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "" else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    for size, why in scaling.failed:
        console.print(Text(f"{size}: not measured: {why}", style="yellow"))
    for line in _sentences(scaling):
        console.print(Text(line))
    for choice in scaling.choices:
        name = f": {choice.size}" if choice.size else ""
        console.print(Text(f"{choice.purpose}{name} ({choice.sentence})", style="bold green"))
    for note in scaling.notes:
        console.print(Text(note, style="dim"))


def _table(scaling: Scaling) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings and rows, without columns that say nothing about this study."""
    results = scaling.results
    columns: dict[str, list[str]] = {"ranks": [str(result.size.ranks) for result in results]}
    if any(result.size.nodes > 1 for result in results):
        columns["nodes"] = [str(result.size.nodes) for result in results]
    if any(result.size.threads > 1 for result in results):
        columns["threads"] = [str(result.size.threads) for result in results]
    columns[f"time per {scaling.unit}"] = [seconds(result.time_s.value) for result in results]
    columns["95 % interval"] = [_interval(result.time_s) for result in results]
    columns["speedup"] = [f"{result.speedup.value:.2f}" for result in results]
    columns["efficiency"] = [share(result.efficiency.value) for result in results]
    columns[""] = ["█" * min(2 * _BAR, round(_BAR * result.efficiency.value)) for result in results]
    columns["core-hours"] = [f"{result.core_hours:.3g}" for result in results]
    if scaling.unit == "step" and any(result.whole_s is not None for result in results):
        columns["whole run"] = [show_duration(result.whole_s or 0.0) for result in results]
    return tuple(columns), list(zip(*columns.values(), strict=True))


def _interval(interval: Interval) -> str:
    if not isfinite(interval.high):
        return "one run"
    return f"{seconds(interval.low)} – {seconds(interval.high)}"


def _sentences(scaling: Scaling) -> list[str]:
    """Return the bend, its causes, and the predictions or the reasons why there are none."""
    lines = [scaling.bend] if scaling.bend else []
    lines += [
        f"{result.size}: oversubscribed, more ranks and threads than cores"
        for result in scaling.results
        if result.oversubscribed
    ]
    if len(scaling.results) > 1 and not scaling.bend:
        lines.append("the curve does not bend between the measured sizes")
    if scaling.factors:
        small, large = scaling.factors
        factors = (
            f"load balance {share(small.load_balance)} → {share(large.load_balance)}, "
            f"serialisation {share(small.serialisation)} → {share(large.serialisation)}, "
            f"transfer {share(small.transfer)} → {share(large.transfer)}, "
            f"files {share(small.files)} → {share(large.files)} of the time"
        )
        lines.append(f"from {small.size} to {large.size}: {factors}")
    lines += [f"cause: {cause}" for cause in scaling.causes]
    if scaling.model:
        lines.append(f"model: {scaling.model}, p: cores")
    lines += [
        f"predicted for {prediction.size}: {seconds(prediction.time_s.value)} per {scaling.unit} "
        f"(90 % interval {_interval(prediction.time_s)})"
        for prediction in scaling.predictions
    ]
    lines += [f"not predicted: {why}" for why in scaling.refusals]
    return lines


def scaling_json(scaling: Scaling) -> dict[str, Any]:
    """Return the result as JSON; infinite limits of intervals are null."""

    def limits(interval: Interval) -> dict[str, float | None]:
        return {
            "time_s": interval.value,
            "low_s": interval.low if isfinite(interval.high) else None,
            "high_s": interval.high if isfinite(interval.high) else None,
        }

    return {
        "command": list(scaling.argv),
        "unit": scaling.unit,
        "weak": scaling.is_weak,
        "sizes": [{**_row(result), "command": result.command} for result in scaling.results],
        "failed": [
            {"ranks": size.ranks, "nodes": size.nodes, "threads": size.threads, "why": why}
            for size, why in scaling.failed
        ],
        "bend": scaling.bend or None,
        "factors": list(scaling.factors),
        "causes": list(scaling.causes),
        "model": scaling.model or None,
        "predictions": [{"size": p.size, **limits(p.time_s)} for p in scaling.predictions],
        "not_predicted": list(scaling.refusals),
        "recommended": list(scaling.choices),
        "notes": list(scaling.notes),
        "recipe": scaling.recipe or None,
        "elapsed_s": scaling.elapsed_s,
        "core_hours": scaling.core_hours,
    }


def _row(result: SizeResult) -> dict[str, Any]:
    size, is_known = result.size, isfinite(result.time_s.high)
    return {
        "ranks": size.ranks,
        "nodes": size.nodes,
        "threads": size.threads,
        "cores": size.cores,
        "time_s": result.time_s.value,
        "low_s": result.time_s.low if is_known else None,
        "high_s": result.time_s.high if is_known else None,
        "speedup": result.speedup.value,
        "efficiency": result.efficiency.value,
        "core_hours": result.core_hours,
        "whole_run_s": result.whole_s,
        "runs": result.blocks,
        "oversubscribed": result.oversubscribed,
    }


def scaling_csv(scaling: Scaling) -> str:
    """Return the measured sizes as CSV with a heading."""
    text = io.StringIO()
    writer = csv.DictWriter(text, (*_COLUMNS, *_MORE_COLUMNS), lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(_row, scaling.results))
    return text.getvalue()


def scaling_html(scaling: Scaling, version: str) -> str:
    """Render the page."""
    headings, rows = _table(scaling)
    return page(
        "scaling.html",
        scaling=scaling,
        line=sh_command(scaling.argv),
        headings=headings,
        rows=rows,
        sentences=_sentences(scaling),
        figure=Markup(as_svg(scaling_shapes(scaling))),  # noqa: S704 our own picture
        version=version,
    )


def proposal_text(scaling: Scaling) -> str:
    """Return the paragraph of a proposal for computing time."""
    first, last = scaling.results[0], scaling.results[-1]
    kind = "weak" if scaling.is_weak else "strong"
    runs = sum(result.blocks for result in scaling.results)
    efficient = next((c for c in scaling.choices if c.purpose.startswith("efficiency") and c.size), None)
    choice = f" We use {efficient.size} ({efficient.sentence})." if efficient else ""
    bend = f" {scaling.bend[:1].upper()}{scaling.bend[1:]}." if scaling.bend else ""
    change = (
        f" and {seconds(last.time_s.value)} on {last.size}, a speedup of {last.speedup.value:.3g} and a "
        f"parallel efficiency of {share(last.efficiency.value)}"
        if last is not first
        else ""
    )
    predicted = "".join(
        f" For {p.size} a model of these times predicts {seconds(p.time_s.value)} per {scaling.unit} "
        f"(90 % interval {_interval(p.time_s)})."
        for p in scaling.predictions
    )
    return (
        f"The {kind} scaling of `{sh_command(scaling.argv)}` was measured with {runs} runs of "
        f"{counted(len(scaling.results), 'size')} in randomised blocks. A {scaling.unit} takes "
        f"{seconds(first.time_s.value)} on {first.size}{change} (figure; bars are 95 % confidence intervals)."
        f"{bend}{predicted}{choice}\n"
    )
