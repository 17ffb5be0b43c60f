"""Result of a tune as text for the terminal."""

from collections.abc import Iterator
from math import isinf

from rich.console import Console
from rich.text import Text

from mpiric.model.amount import counted, share, show_duration
from mpiric.model.evidence import Evidence, Verdict
from mpiric.model.quoting import sh_command
from mpiric.model.tuned import STEPS, BestSoFar, RunTimes, SplitGain, Tuned
from mpiric.report.tuned_parts import (
    PARTS,
    chain,
    counted_by,
    gain_split,
    longer_sentence,
    looked_at,
    share_words,
    split_rows,
    times_bars,
    times_rows,
    together_words,
)

_HEADLINE = {
    Verdict.FASTER: ("bold green", "faster, proved"),
    Verdict.SLOWER: ("bold red", "slower"),
    Verdict.NO_DIFFERENCE: ("bold yellow", "no difference shown"),
    Verdict.LIKELY: ("bold yellow", "likely, not proved"),
    Verdict.UNDECIDED: ("bold yellow", "not decided"),
}
_UNITS = {"wall": " s", "main": " s", "io": " s", "core-hours": " core-hours"}
_MOST_REJECTED = 6
NOT_TRIED = "not tried "  # beginning of a note of knobs that were not allowed


def amount(value: float, objective: str) -> str:
    """Format a measured value with its unit: ``1.234 s``; objectives captured from output have no unit."""
    return f"{value:.4g}{_UNITS.get(objective, '')}"


def interval(evidence: Evidence) -> str:
    """Return ``[1.21, 1.35]`` (open if runs were stopped), or the reason why there is none."""
    if evidence.low <= 0 and isinf(evidence.high):
        return "(too few pairs for an interval)"
    return f"[{evidence.low:.2f}, {'∞)' if isinf(evidence.high) else f'{evidence.high:.2f}]'}"


def print_tuned(tuned: Tuned, console: Console) -> None:
    """Print the result at the end of ``mpiric tune``."""
    console.print()
    console.print(_headline(tuned), soft_wrap=True)
    if sentence := counted_by(tuned):
        console.print(Text(sentence, style="dim"), soft_wrap=True)
    for title, lines in _sections(tuned):
        console.print(Text(f"\n{title}", style="bold"))
        for indent, line in lines:
            # A command must stay on one line to be copied; text wraps within its indent.
            is_command = line.style == "green"
            for part in [line] if is_command else line.wrap(console, max(1, console.width - indent)):
                part.rstrip()
                console.print(Text(" " * indent) + part, soft_wrap=True)


def _sections(tuned: Tuned) -> Iterator[tuple[str, list[tuple[int, Text]]]]:
    """Yield titles and lines: first the command, last the settings not tried."""
    if tuned.changes:
        yield "The same without mpiric", list(_without_mpiric(tuned))
        yield "Changed settings and reasons", list(_changes(tuned))
    if split := gain_split(tuned):
        yield "Where the gain is", list(_split(split))
    if tuned.times:
        yield "Where the time went, in one recorded run each", list(_times(tuned.times))
    if tuned.best_so_far:
        best = tuned.best_so_far
        estimate = f"{best.configuration}   about {best.expected_ratio:.2f}×"
        lines = [
            (2, Text(estimate, style="cyan")),
            (2, Text(missing_words(best))),
            (2, Text(best.launch.shell_line(), style="green")),
        ]
        yield "Likely, not proved" if tuned.verdict is Verdict.LIKELY else "Best so far, not proved", lines
    if tuned.findings:
        yield (
            "Noticed",
            [
                line
                for finding in tuned.findings
                for line in (
                    (2, Text(finding.says)),
                    (4, Text(f"{finding.evidence}; {finding.fix}", style="dim")),
                )
            ],
        )
    if tuned.rejected:
        yield f"Rejected ({len(tuned.rejected)})", list(_rejected(tuned))
    notes = [(2, Text(note, style="yellow")) for note in tuned.notes if not note.startswith(NOT_TRIED)]
    tried = f"; tried: {', '.join(tuned.tried)}" if tuned.tried else ""
    around = f", including {show_duration(tuned.around_runs_s)} between runs" if tuned.around_runs_s else ""
    spent = f"{counted(tuned.runs, 'run')}, {tuned.core_hours:.2g} core-hours"
    yield "Effort", [(2, Text(f"{spent}, in {show_duration(tuned.elapsed_s)}{around}{tried}")), *notes]
    if following := list(_next(tuned)):
        yield "Next", following
    if tuned.cannot_matter:
        yield f"Cannot matter here ({len(tuned.cannot_matter)})", list(_needless(tuned))
    if lines := list(not_tried(tuned)):
        yield "Not tried", lines


def _headline(tuned: Tuned) -> Text:
    evidence = tuned.evidence
    original = amount(tuned.original.median_s, tuned.objective)
    if evidence is None or not shows_candidate(tuned):
        text = Text(f"{original} as it is", style="bold")
        text.append(f"   {without_proof(tuned)}", style="bold yellow")
        return text.append(f"  ({left_undecided(tuned)})", style="dim") if evidence else text
    style, label = _HEADLINE[evidence.verdict]
    per_step = " per step" if tuned.scope == STEPS and tuned.objective in _UNITS else ""
    ratio = f"{evidence.ratio:.2f}×{per_step} {interval(evidence)}{_claim(tuned, label)}"
    text = Text(ratio, style=style)
    if evidence.verdict is not Verdict.FASTER:
        text.append(f" for {evidence.configuration}", style="cyan")
    text.append(f"   {original}", style="bold")
    if tuned.tuned is not None:
        text.append(f" → {amount(tuned.tuned.median_s, tuned.objective)}", style="bold")
    return text.append(f"  ({_pairs(evidence)}, at {share(evidence.confidence)})", style="dim")


def _pairs(evidence: Evidence) -> str:
    return f"{len(evidence.pairs)} fresh pair{'' if len(evidence.pairs) == 1 else 's'}"


def shows_candidate(tuned: Tuned) -> bool:
    """Return whether something can be said of the candidate: it was decided, or it is ahead."""
    return tuned.evidence is not None and (not tuned.evidence.verdict.is_open or bool(tuned.best_so_far))


def left_undecided(tuned: Tuned) -> str:
    """Describe the comparison that the budget ended before it showed anything."""
    assert tuned.evidence is not None
    return f"{tuned.evidence.configuration}: not decided by {_pairs(tuned.evidence)}"


def without_proof(tuned: Tuned) -> str:
    """Describe a tune that has compared no configuration."""
    if tuned.interrupted:
        return "interrupted before a proof"
    if tuned.best_so_far:
        return "a candidate was found, but time was too short to prove it"
    return (
        f"nothing was tried: {tuned.nothing_tried}"
        if tuned.nothing_tried
        else "no faster configuration was found"
    )


def missing_words(best: BestSoFar) -> str:
    """Describe the progress of a proof and its remaining cost."""
    so_far = (
        f"faster in {best.wins} of {best.pairs} pairs; " if best.pairs else "measured in the search only; "
    )
    return f"{so_far}a proof needs at least {best.missing_pairs} more, about {show_duration(best.missing_s)}"


def _claim(tuned: Tuned, label: str) -> str:
    """Describe the ratio, and the part of the run that it holds for."""
    part = looked_at(tuned)
    if not part:
        return f"  {label}"
    return f", proved on {part}" if tuned.verdict is Verdict.FASTER else f"  {label} on {part}"


def _changes(tuned: Tuned) -> Iterator[tuple[int, Text]]:
    for change in tuned.changes:
        setting = Text(f"{change.knob} = {change.value}", style="cyan")
        yield 2, setting.append(f"   {share_words(change)}" if change.share else "", style="bold green")
        yield 6, Text(chain(change) or change.why)
        if change.note:
            yield 6, Text(change.note, style="dim")
    if interaction := together_words(tuned):
        yield 2, Text(interaction)


def _split(split: SplitGain) -> Iterator[tuple[int, Text]]:
    for row in split_rows(split):
        yield 2, Text(f"{row.part:<10} {row.times:<22} {row.ratio}".rstrip())
    if sentence := longer_sentence(split):
        yield 2, Text(sentence, style="dim")


def _times(times: tuple[RunTimes, RunTimes]) -> Iterator[tuple[int, Text]]:
    rows = times_rows(times)
    for bar in times_bars(rows):
        line = Text(f"{bar.name:<10} ")
        for part, length in bar.lengths:
            line.append("█" * length, style=PARTS[part][1])
        yield 2, line.append(f" {bar.total_s:.3g} s")
    for row in rows:
        line = Text("█ ", style=PARTS[row.part][1])
        yield 2, line.append(f"{row.name:<13} {row.original_s:.3g} → {row.tuned_s:.3g} s", style="default")


def _rejected(tuned: Tuned) -> Iterator[tuple[int, Text]]:
    # Short configurations come first: a setting that failed alone before it failed with others.
    entries = sorted(tuned.rejected, key=lambda entry: len(entry.configuration.items))
    for entry in entries[:_MOST_REJECTED]:
        yield 2, Text(f"{entry.configuration}: {entry.reason}", style="dim")
    if len(entries) > _MOST_REJECTED:
        yield 2, Text(f"… and {len(entries) - _MOST_REJECTED} more, in {tuned.store}", style="dim")


def _needless(tuned: Tuned) -> Iterator[tuple[int, Text]]:
    for why, knobs in tuned.needless.items():
        yield 2, Text(f"{', '.join(knobs)}: {why}", style="dim")


def not_tried(tuned: Tuned) -> Iterator[tuple[int, Text]]:
    """Yield what the tune has not tried, and the option that allows it."""
    if tuned.not_reached:
        yield 2, Text(f"not reached: {', '.join(tuned.not_reached)}")
    for note in tuned.notes:
        if note.startswith(NOT_TRIED):
            yield 2, Text(note.removeprefix(NOT_TRIED).strip())


def _without_mpiric(tuned: Tuned) -> Iterator[tuple[int, Text]]:
    for sentence in tuned.exports:
        yield 2, Text(sentence, style="green")
    if tuned.launch is None:
        yield 2, Text(tuned.launch_why)
        return
    yield 2, Text(tuned.launch.shell_line(), style="green")
    for setting in tuned.launch.settings:
        if setting.overrides:
            yield 2, Text(f"{setting.name} overrides {setting.overrides}", style="dim")


def _next(tuned: Tuned) -> Iterator[tuple[int, Text]]:
    command = sh_command(tuned.job.command)
    if tuned.interrupted or tuned.best_so_far:
        resume = sh_command(["mpiric", "tune", *tuned.resume_options, "--", *tuned.job.command])
        yield 2, Text(resume, style="green")
    elif tuned.recipe:
        yield 2, Text(f"mpiric run -- {command}", style="green")
        yield 2, Text(f"recipe  {tuned.recipe}", style="green")
    if site := [change.knob for change in tuned.changes if change.site]:
        yield 2, Text(f"{', '.join(site)} can become site defaults for every program on this machine:")
        yield 2, Text(f"mpiric tune --site -- {command}", style="green")
    yield 2, Text(f"report  {tuned.store}/report.html", style="green")
