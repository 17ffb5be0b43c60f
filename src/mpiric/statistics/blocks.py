"""Runs of a search or proof that are made at the same time by several jobs of an array, in blocks. Pure.

The runs of a block follow one another on the same nodes, after some runs of the original. Blocks on other
nodes or at another time may be slower as a whole; `levelled` removes that difference as far as it exceeds the
noise.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from math import exp, isfinite, log
from statistics import fmean, median, variance

from mpiric.model.run import Outcome, Phase, Run, Trial


def deal(runs: Sequence[Run], most_blocks: int, fewest_runs: int = 1) -> tuple[tuple[Run, ...], ...]:
    """Distribute runs over at most ``most_blocks`` blocks of similar size; runs of a pair stay together.

    More than one block is used only if each has ``fewest_runs`` runs.
    """

    def unit(numbered: tuple[int, Run]) -> tuple[str, int]:
        at, run = numbered
        return ("pair", run.pair) if run.pair >= 0 else ("run", at)

    units = [[run for _, run in group] for _, group in groupby(enumerate(runs), unit)]
    count = max(1, min(most_blocks, len(units), len(runs) // max(1, fewest_runs)))
    blocks: list[list[Run]] = [[] for _ in range(count)]
    for at, members in enumerate(units):
        blocks[at * count // len(units)] += members
    return tuple(tuple(block) for block in blocks if block)


def levelled(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the trials with the objectives that they would have if all blocks were equally fast.

    The level of a block is the median of its runs of the original, shrunk towards the mean of all blocks by
    the share of noise in the differences between blocks: best linear unbiased prediction of a one-way random
    effect, its variance by moments (Searle, Casella and McCulloch 1992, Variance Components, ch. 3 and 7).
    """
    logs: dict[str, list[float]] = {}  # logarithms of the objectives of the original in each block
    for trial in trials:
        value = trial.objective
        counts = trial.outcome is Outcome.OK and value is not None and isfinite(value) and value > 0
        if counts and not trial.configuration and trial.phase is not Phase.PROOF:
            logs.setdefault(trial.block, []).append(log(value or 1.0))
    shifts = _shifts(logs)
    return tuple(
        trial
        if trial.objective is None or trial.block not in shifts
        else replace(trial, objective=trial.objective * exp(-shifts[trial.block]))
        for trial in trials
    )


def _shifts(logs: dict[str, list[float]]) -> dict[str, float]:
    """Return the predicted effect of each block on the logarithm of the objective."""
    if len(logs) < 2:
        return {}
    total = sum(map(len, logs.values()))
    medians = {block: median(values) for block, values in logs.items()}
    centre = fmean(medians.values())
    freedom = total - len(logs)
    noise = sum(variance(v) * (len(v) - 1) for v in logs.values() if len(v) > 1) / max(1, freedom)
    spread = sum(len(values) * (medians[block] - centre) ** 2 for block, values in logs.items())
    scale = total - sum(len(values) ** 2 for values in logs.values()) / total
    between = max(0.0, (spread - (len(logs) - 1) * noise) / scale)
    if not between:
        return dict.fromkeys(logs, 0.0)
    return {
        block: between / (between + noise / len(values)) * (medians[block] - centre)
        for block, values in logs.items()
    }
