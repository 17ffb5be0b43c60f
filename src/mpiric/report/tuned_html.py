"""Result of a tune as a self-contained HTML page without scripts, for screens and print."""

from math import ceil, floor, log, log10

from mpiric.host.command_log import masked, masked_launch
from mpiric.model.amount import show_duration
from mpiric.model.dataclass import dataclass
from mpiric.model.evidence import Verdict
from mpiric.model.run import Outcome, Phase, Trial
from mpiric.model.tuned import Tuned
from mpiric.report._pages import template
from mpiric.report.tuned_parts import (
    chain,
    gain_split,
    longer_sentence,
    scope_sentence,
    share_words,
    split_rows,
    times_bars,
    times_rows,
    together_words,
)
from mpiric.report.tuned_text import (
    NOT_TRIED,
    amount,
    interval,
    left_undecided,
    missing_words,
    not_tried,
    shows_candidate,
    without_proof,
)

_FEWEST_TICKS = 3  # lower limit of the number of ticks; the upper limit is twice as high
_ROUNDING = 1e-9  # tolerance of a quotient near a whole number
_WIDTH, _HEIGHT, _MARGIN = 720.0, 220.0, 46.0


@dataclass(frozen=True)
class Dot:
    """Run in a chart, in the coordinates of the SVG's viewBox."""

    x: float
    y: float
    kind: str  # CSS class: "original", "tuned", "tried", "rejected"
    title: str


@dataclass(frozen=True)
class Chart:
    """Runs in order, with a logarithmic axis of the objective."""

    dots: tuple[Dot, ...]
    lines: tuple[tuple[float, float, float, float], ...]
    ticks: tuple[tuple[float, str], ...]
    width: float = _WIDTH
    height: float = _HEIGHT


def tuned_html(tuned: Tuned, trials: tuple[Trial, ...], version: str) -> str:
    """Render the page. ``trials`` are all runs of the tune."""
    split = gain_split(tuned)
    return template("tuned.html").render(
        tuned=tuned,
        notes=[note for note in tuned.notes if not note.startswith(NOT_TRIED)],
        not_tried=[line.plain for _, line in not_tried(tuned)],
        line=masked_launch(tuned.launch).shell_line() if tuned.launch else "",
        evidence=tuned.evidence,
        pairs=_pairs_chart(tuned),
        search=_search_chart(trials, tuned),
        split=list(split_rows(split)) if split else [],
        times=times_rows(tuned.times) if tuned.times else [],
        bars=list(times_bars(times_rows(tuned.times))) if tuned.times else [],
        chain=chain,
        scope=scope_sentence(tuned),
        longer=longer_sentence(split) if split else "",
        machine=tuned.machine,
        version=version,
        amount=lambda value: amount(value, tuned.objective),
        duration=show_duration,
        interval=interval,
        is_claim=tuned.verdict.is_claim,
        shows_candidate=shows_candidate(tuned),
        undecided=left_undecided(tuned) if tuned.evidence else "",
        is_likely=tuned.verdict is Verdict.LIKELY,
        without_proof=without_proof(tuned),
        missing_words=missing_words,
        share_words=share_words,
        together=together_words(tuned),
        command=" ".join(masked(tuned.job.argv)),
    )


def _pairs_chart(tuned: Tuned) -> Chart | None:
    """Draw original and candidate of each pair, joined by a line."""
    if tuned.evidence is None or not tuned.evidence.pairs:
        return None
    pairs = tuned.evidence.pairs
    shown = [(tuned.shown(original), tuned.shown(candidate)) for original, candidate in pairs]
    place = _Scale([value for pair in shown for value in pair], len(pairs))
    dots, lines = [], []
    for index, (original, candidate) in enumerate(shown):
        x = place.x(index)
        lines.append((x, place.y(original), x, place.y(candidate)))
        title = (
            f"pair {index + 1}: {amount(original, tuned.objective)} → {amount(candidate, tuned.objective)}"
        )
        dots += [Dot(x, place.y(original), "original", title), Dot(x, place.y(candidate), "tuned", title)]
    return Chart(tuple(dots), tuple(lines), place.ticks(tuned.objective))


def _search_chart(trials: tuple[Trial, ...], tuned: Tuned) -> Chart | None:
    """Draw every run of the search in order; rejected runs are at the lower edge."""
    tried = [trial for trial in trials if trial.phase in (Phase.OBSERVE, Phase.SEARCH)]
    values = [tuned.shown(trial.objective) for trial in tried if trial.objective is not None]
    if not values:
        return None
    place = _Scale(values, len(tried))
    dots = []
    for index, trial in enumerate(tried):
        kind = "tried" if trial.configuration else "original"
        if trial.objective is None or trial.outcome is not Outcome.OK:
            dots.append(
                Dot(
                    place.x(index),
                    _HEIGHT - _MARGIN / 2,
                    "rejected",
                    f"{trial.configuration}: {trial.reason}",
                )
            )
        else:
            value = tuned.shown(trial.objective)
            title = f"{amount(value, tuned.objective)}  {trial.configuration}"
            dots.append(Dot(place.x(index), place.y(value), kind, title))
    return Chart(tuple(dots), (), place.ticks(tuned.objective))


class _Scale:
    """Axes: run number → x, objective → y (logarithmic, with a margin at both ends)."""

    def __init__(self, values: list[float], count: int) -> None:
        self._low, self._high = min(values) * 0.95, max(values) * 1.05
        self._count = count

    def x(self, index: int) -> float:
        return round(_MARGIN + (index + 0.5) * (_WIDTH - 1.3 * _MARGIN) / self._count, 1)

    def y(self, value: float) -> float:
        share = log(value / self._low) / log(self._high / self._low)
        return round(_HEIGHT - _MARGIN - share * (_HEIGHT - 1.5 * _MARGIN), 1)

    def ticks(self, objective: str) -> tuple[tuple[float, str], ...]:
        return tuple(
            (self.y(value), amount(value, objective)) for value in round_ticks(self._low, self._high)
        )


def round_ticks(low: float, high: float) -> tuple[float, ...]:
    """Return three to six round numbers from ``low`` to ``high`` for a logarithmic axis."""
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    for digits in ((1,), (1, 2, 5)):
        ticks = [digit * 10.0**power for power in decades for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if _FEWEST_TICKS <= len(ticks) <= 2 * _FEWEST_TICKS:
            return tuple(ticks)
    if len(ticks) > 2 * _FEWEST_TICKS:  # many decades
        powers = [10.0**power for power in decades if low <= 10.0**power <= high]
        return tuple(powers[:: ceil(len(powers) / (2 * _FEWEST_TICKS))])
    powers = [10.0**power for power in reversed(range(decades[0] - 3, decades[-1] + 1))]
    for step in (digit * power for power in powers for digit in (5, 4, 2, 1)):
        numbers = range(ceil(low / step - _ROUNDING), floor(high / step + _ROUNDING) + 1)
        if len(numbers) >= _FEWEST_TICKS:
            return tuple(round(number * step, 12) for number in numbers)
    return (low, high)
