"""Stages of the search: screening, model-based exploration, slimming.

Screening tries one setting after the other on top of the best point so far. Exploration runs the point with
the largest expected improvement, given all runs so far. Slimming removes the settings of the best point that
do not seem to contribute. `Effort` is the number of runs that they spend on small gains.

In slimming, a setting with an estimated contribution below half of the minimum effect is dropped without a
run. If the estimate is doubtful, or the configuration never ran without the setting, the configuration runs
with and without it in turn until the estimate is certain. Settings that are still doubtful after the allowed
runs are dropped as well. If the budget ends before, they are dropped if their estimated contribution is
small.

In the end, unless the proof is to decide about each setting, small contributions are dropped that are not
shown with a confidence of 95 %: the best of many configurations owes a part of its lead to chance.
"""

from collections import Counter
from contextlib import suppress
from itertools import product
from math import prod
from random import Random

from mpiric.model.dataclass import dataclass
from mpiric.model.run import Outcome, Plan
from mpiric.plans.evaluator import Evaluator, OutOfBudgetError
from mpiric.plans.ranking import (
    SHOWN,
    accepted_loss,
    contributions,
    live_levels,
    only_live,
    rank,
    without_heavy,
)
from mpiric.statistics.effects import UNPROMISING, expected_improvement
from mpiric.statistics.space import Point, with_level


@dataclass(frozen=True)
class Effort:
    """Thresholds of the search and of the proof."""

    worth: float  # least expected gain of a run, relative to the minimum effect of the proof
    patience: int  # successive steps without a run of that gain after which the search ends
    looks: int  # runs of a comparison that decides whether a setting stays in the answer
    proves_shares: bool = False  # the contribution of each setting is proved, not only estimated


EFFORTS = {
    # The proof does not call a gain below half of the minimum effect, so that a run for it is wasted.
    "quick": Effort(worth=1.0, patience=1, looks=1),
    "normal": Effort(worth=0.5, patience=3, looks=2),
    "thorough": Effort(worth=0.1, patience=4, looks=8, proves_shares=True),
}
NORMAL = EFFORTS["normal"]


_SHARE = 0.7  # share of the runs for screening; the others are for combinations
_FRUITLESS = 5  # number of successive unpromising settings without a gain after which screening ends
_ALL = 1500  # spaces up to this size are enumerated
_Level = tuple[int, int]  # index of a factor and one of its levels


def screen(evaluator: Evaluator) -> Plan[None]:
    """Try each level once, by descending promise, within a share of the remaining runs.

    Unpromising settings come after promising ones, and end when several in a row had no gain. Heavy settings
    come last.
    """
    runs = evaluator.runs_left()
    last = len(evaluator.trials) + max(1, int(runs * _SHARE)) if runs > 5 else len(evaluator.trials) + runs
    factors = evaluator.space.factors
    # The second value of a promising factor may come before the first one of another factor.
    turns = sorted(
        (factor.weight, (turn + 1) / (0.1 + factor.score), index, level + 1)
        for index, factor in enumerate(factors)
        for turn, level in enumerate(factor.order)
    )
    likely: list[_Level] = []
    unlikely: list[_Level] = []
    heavy: list[_Level] = []
    for weight, _, index, level in turns:
        group = heavy if weight else unlikely if factors[index].score < UNPROMISING else likely
        group.append((index, level))
    for factor, level in likely:
        if len(evaluator.trials) >= last:
            return
        yield from _try(evaluator, factor, level)
    fruitless = 0
    for factor, level in (*unlikely, *heavy):
        if len(evaluator.trials) >= last:
            return
        if factors[factor].score < UNPROMISING and likely and fruitless >= _FRUITLESS:
            continue
        yield from _try(evaluator, factor, level)
        fruitless = 0 if level in live_levels(evaluator)[factor] else fruitless + 1


def _try(evaluator: Evaluator, factor: int, level: int) -> Plan[None]:
    """Run the best point so far with one more level; before it the original, if that is due."""
    if any(point[factor] == level for point in evaluator.points):
        return  # measured by a run that was made ahead of the search
    if evaluator.is_original_due():
        yield from evaluator.run(evaluator.original)
    base = (
        only_live(rank(evaluator)[0].point, live_levels(evaluator))
        if evaluator.points
        else evaluator.original
    )
    point = with_level(base, factor, level)
    if point == base or not evaluator.may_work(point):
        return
    trial = yield from evaluator.run(point)
    if trial.outcome is not Outcome.OK and any(base) and point in evaluator.failed:
        # Does the setting fail alone, or only in combination?
        alone = with_level(evaluator.original, factor, level)
        if evaluator.may_work(alone) and alone not in evaluator.points and evaluator.runs_left() >= 10:
            yield from evaluator.run(alone)


def explore(evaluator: Evaluator, effort: Effort, effect: float, seed: int) -> Plan[None]:
    """Run until no gain is expected any more that the proof could call.

    The point with the largest expected improvement runs, or the best point if that ran less often (leader and
    challenger of Qin, Klabjan and Russo, NeurIPS 2017).
    """
    quiet = 0
    while evaluator.runs_left():
        if evaluator.is_original_due():
            yield from evaluator.run(evaluator.original)
            continue
        step, best = len(evaluator.trials), rank(evaluator)[0].point
        # The levels with two runs that were stopped as slow and none that ended: hardly by chance.
        stopped = Counter[tuple[int, int]]()
        ended = set[tuple[int, int]]()
        for point in evaluator.points:
            levels = [(index, level) for index, level in enumerate(point) if level]
            stopped.update(levels if point in evaluator.stopped else ())
            ended.update(() if point in evaluator.stopped else levels)
        slow = {level for level, times in stopped.items() if times > 1 and level not in ended}
        points = [
            point
            for point in _candidates(evaluator, seed, step)
            if point != best and slow.isdisjoint(enumerate(point))
        ]
        if not points:
            return
        improvement = expected_improvement(evaluator.effects(), points, best)
        first = int(improvement.argmax())
        quiet = quiet + 1 if improvement[first] < effort.worth * effect else 0
        if quiet == effort.patience:
            return
        times = evaluator.runs_of(points[first])
        yield from evaluator.run(best if 0 < evaluator.runs_of(best) < times else points[first])


def _candidates(evaluator: Evaluator, seed: int, step: int) -> list[Point]:
    """Return all points of a small space, else neighbours and random crossings of the best points."""
    levels = live_levels(evaluator)
    if prod(map(len, levels)) <= _ALL:
        return [point for point in product(*levels) if evaluator.may_work(point)]
    random = Random(f"mpiric search {seed} {step}")  # noqa: S311
    best = list(dict.fromkeys(only_live(entry.point, levels) for entry in rank(evaluator)[:8]))
    points: dict[Point, None] = dict.fromkeys(best)
    for point in best[:4]:
        for index, choices in enumerate(levels):
            points.update(dict.fromkeys(with_level(point, index, level) for level in choices))
    for _ in range(300):
        parents = random.choice(best), random.choice(best)
        crossed = [random.choice(pair) for pair in zip(*parents, strict=True)]
        for _ in range(random.choice((0, 1, 2))):
            index = random.randrange(len(levels))
            crossed[index] = random.choice(levels[index])
        points[tuple(crossed)] = None
    reduced = dict.fromkeys(only_live(point, levels) for point in points)
    return [point for point in reduced if evaluator.may_work(point)]


_UNSHOWN = 1.64  # standard deviations of a one-sided 95 % limit
_SMALL = 0.06  # larger contributions to the logarithm of the objective are not dropped without a run
_FAR = 6.0  # standard deviations beyond which one disturbed run cannot make a setting look useful


def slim(evaluator: Evaluator, effort: Effort, effect: float) -> Plan[None]:
    """Store the smallest configuration that is as fast as the best in ``evaluator.minimal``."""
    evaluator.begin_choosing()
    ranked = without_heavy(evaluator, rank(evaluator))
    if not ranked or not any(ranked[0].point):
        return
    point, looks, has_budget = ranked[0].point, Counter[int](), True
    while sum(map(bool, point)) > 1:
        without = {
            setting: with_level(point, setting.factor, 0)
            for setting in reversed(contributions(evaluator, point))
        }
        settings = [setting for setting, smaller in without.items() if evaluator.may_work(smaller)]
        idle = next((setting for setting in settings if setting.mean < effect / 2), None)
        unsure = next(
            (
                setting
                for setting in settings
                if looks[setting.factor] < 2 * effort.looks and has_budget
                if not setting.is_evident
                or (setting.mean < _FAR * setting.deviation and not evaluator.runs_of(without[setting]))
            ),
            None,
        )
        if idle is None and unsure is None:
            most_lost = accepted_loss(evaluator, point)
            idle = next(
                (
                    setting
                    for setting in settings
                    if setting.is_doubtful
                    and (looks[setting.factor] == 2 * effort.looks or setting.mean <= most_lost)
                ),
                None,
            )
        if idle is not None:
            point = without[idle]
        elif unsure is not None:
            try:
                yield from evaluator.run(min(without[unsure], point, key=evaluator.runs_of))
            except OutOfBudgetError:
                has_budget = False
                continue
            looks[unsure.factor] += 1
            if not evaluator.may_work(point):
                return
        else:
            break
    while sum(map(bool, point)) > 1 and not effort.proves_shares:
        unshown = [
            setting
            for setting in contributions(evaluator, point)
            if setting.mean <= min(_SMALL, SHOWN + _UNSHOWN * setting.deviation)
            and evaluator.may_work(with_level(point, setting.factor, 0))
        ]
        if not unshown:
            break
        point = with_level(point, min(unshown, key=lambda setting: setting.mean).factor, 0)
    if not evaluator.runs_of(point):
        with suppress(OutOfBudgetError):
            yield from evaluator.run(point)
    evaluator.minimal = point if evaluator.may_work(point) else None
