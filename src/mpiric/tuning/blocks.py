"""Runs of a search or proof that are made at the same time in several places, in blocks. Pure.

A block's runs follow one another on the same nodes, after a few of the original. Blocks on other nodes or at
another hour may be slower as a whole; `levelled` takes that out as far as it is more than noise.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import exp, isfinite, log
from statistics import fmean, median, variance

from mpiric.model.run import Run
from mpiric.model.trial import Outcome, Phase, Trial


def deal(runs: Sequence[Run], most: int, fewest_runs: int = 1) -> tuple[tuple[Run, ...], ...]:
    """Deal runs into at most ``most`` blocks of about one size, several only of ``fewest_runs`` each."""
    whole = [list(group) for _, group in groupby(enumerate(runs), lambda numbered: _unit(*numbered))]
    count = max(1, min(most, len(whole), len(runs) // max(1, fewest_runs)))
    blocks: list[list[Run]] = [[] for _ in range(count)]
    for at, unit in enumerate(whole):
        blocks[at * count // len(whole)] += [run for _, run in unit]
    return tuple(tuple(block) for block in blocks if block)


def _unit(at: int, run: Run) -> tuple[str, int]:
    return ("pair", run.pair) if run.pair >= 0 else ("run", at)


def levelled(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Trials with the objectives that they would have had if all blocks had been equally fast.

    A block's own level is that of its runs of the original, drawn towards all the others' by how much of the
    differences between blocks is noise: best linear unbiased prediction of a one-way random effect, its
    variance by moments (Searle, Casella and McCulloch 1992, Variance Components, chapters 3 and 7).
    """
    shifts = _shifts(_originals(trials))
    return tuple(
        trial
        if trial.objective is None or trial.block not in shifts
        else replace(trial, objective=trial.objective * exp(-shifts[trial.block]))
        for trial in trials
    )


def _originals(trials: Iterable[Trial]) -> Mapping[str, list[float]]:
    """Block → logarithms of the objective of the unchanged command there."""
    logs: dict[str, list[float]] = {}
    for trial in trials:
        value = trial.objective
        counts = trial.outcome is Outcome.OK and value is not None and isfinite(value) and value > 0
        if counts and not trial.configuration and trial.phase is not Phase.PROOF:
            logs.setdefault(trial.block, []).append(log(value or 1.0))
    return logs


def _shifts(logs: Mapping[str, list[float]]) -> dict[str, float]:
    if len(logs) < 2:
        return {}
    total = sum(map(len, logs.values()))
    own = {block: median(values) for block, values in logs.items()}
    centre = fmean(own.values())
    freedom = total - len(logs)
    noise = sum(variance(v) * (len(v) - 1) for v in logs.values() if len(v) > 1) / max(1, freedom)
    spread = sum(len(values) * (own[block] - centre) ** 2 for block, values in logs.items())
    scale = total - sum(len(values) ** 2 for values in logs.values()) / total
    between = max(0.0, (spread - (len(logs) - 1) * noise) / scale)
    if not between:
        return dict.fromkeys(logs, 0.0)
    return {
        block: between / (between + noise / len(values)) * (own[block] - centre)
        for block, values in logs.items()
    }
