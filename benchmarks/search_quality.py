"""How good, how quick and how slim the search's answers are on made-up programs, whose true times are known.

No program runs: times come from `tests/support/landscapes.py`, noise included, by seed. So the numbers of two
versions of the search can be compared digit by digit, on any machine.
"""

import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from tests.support.landscapes import SHAPES, Landscape, landscape

from benchmarks._report import Result, options, run, tell
from benchmarks._search_trail import right_after
from mpiric.model.configuration import Configuration
from mpiric.model.trial import Trial
from mpiric.tuning.budget import Budget
from mpiric.tuning.search.search import search

_GOAL = 0.02  # loss of a right answer
_EFFECT = 0.01  # what a setting has to contribute, as in a proof
_KINDS = (
    *(
        {"noise": noise, "interaction": interaction}
        for interaction in (0.0, 0.1)
        for noise in (0.01, 0.03, 0.1)
    ),
    {"noise": 0.03, "idle": 12},
    {"noise": 0.03, "promised": 1.0},
)

COLUMNS = {
    "kind": "programs",
    "within": "within 2 % of the best",
    "loss_median": "loss, median",
    "loss_mean": "mean",
    "right_after": "runs until right, median",
    "never_right": "never right",
    "settings": "settings",
    "superfluous": "superfluous",
    "missed": "missed",
    "runs": "runs",
}


@dataclass(frozen=True)
class Answer:
    """What one search came to: losses are relative to the true best, 0.02 for 2 %."""

    loss: float
    settings: int
    superfluous: int
    missed: int
    right_after: int | None
    runs: int


def main() -> int:
    """Search many programs of each kind."""
    parser = options("search_quality", "How good, quick and slim are the answers of the search?")
    parser.add_argument("--programs", type=int, help="of each kind (default 32, quick 4)")
    parser.add_argument("--runs", type=int, default=25, help="of one search")
    return run("search_quality", parser.parse_args(), measure)


def measure(given: Namespace) -> Result:
    """A row for each kind of programs."""
    programs = given.programs or (4 if given.quick else 32)
    rows, every = [], []
    for kind in _KINDS:
        name = ", ".join(
            f"{word} {value:.0%}" if value < 2 else f"{value} {word}" for word, value in kind.items()
        )
        tell(name)
        seeds = range(1000 + given.seed, 1000 + given.seed + programs)
        answers = [
            answer_of(
                landscape(seed, SHAPES[seed % len(SHAPES)], crashing=0.05, **kind),  # type: ignore[arg-type]
                given.runs,
                seed,
            )
            for seed in seeds
        ]
        every += answers
        rows.append(row_of(name, answers))
    rows.append(row_of("all", every))
    return Result(COLUMNS, rows, summary_of(rows[-1]))


def answer_of(made: Landscape, runs: int, seed: int) -> Answer:
    """Search one program."""
    trials: list[Trial] = []

    def measured(configuration: Configuration, limit_s: float) -> Trial:
        trials.append(made.measure(configuration, limit_s))
        return trials[-1]

    found = search(made.space, measured, Budget(runs=runs), seed=seed)
    best = found.candidates[0].configuration if found.candidates else Configuration()
    return Answer(
        loss=made.regret(best),
        settings=len(best.items),
        superfluous=sum(loss_without(made, best, knob) < _EFFECT for knob, _ in best.items),
        missed=missed(made, best),
        right_after=right_after(trials, lambda configuration: made.regret(configuration) <= _GOAL),
        runs=made.runs,
    )


def loss_without(made: Landscape, configuration: Configuration, knob: str) -> float:
    """How much slower a configuration truly is without one of its settings."""
    rest = Configuration(tuple(item for item in configuration.items if item[0] != knob))
    return (1 + made.regret(rest)) / (1 + made.regret(configuration)) - 1


def missed(made: Landscape, configuration: Configuration) -> int:
    """Knobs that the answer leaves alone although one of their values would make it faster."""
    settings = configuration.as_dict()
    count = 0
    for dimension in made.space.dimensions:
        if dimension.knob in settings:
            continue
        with_value = (Configuration.of({**settings, dimension.knob: value}) for value in dimension.values)
        gains = (made.regret(configuration) - made.regret(each) for each in with_value if made.works(each))
        count += max(gains, default=0.0) > _EFFECT
    return count


def row_of(kind: str, answers: Sequence[Answer]) -> dict[str, Any]:
    """One line of the table."""
    right = [answer.right_after for answer in answers if answer.right_after is not None]
    return {
        "kind": kind,
        "within": round(sum(answer.loss <= _GOAL for answer in answers) / len(answers), 3),
        "loss_median": round(median(answer.loss for answer in answers), 4),
        "loss_mean": round(mean(answer.loss for answer in answers), 4),
        "right_after": median(right) if right else None,
        "never_right": len(answers) - len(right),
        "settings": round(mean(answer.settings for answer in answers), 2),
        "superfluous": round(mean(answer.superfluous for answer in answers), 2),
        "missed": round(mean(answer.missed for answer in answers), 2),
        "runs": round(mean(answer.runs for answer in answers), 1),
    }


def summary_of(row: dict[str, Any]) -> str:
    """The line of all programs as a sentence."""
    return (
        f"{row['within']:.0%} within 2 % of the best, mean loss {row['loss_mean']:.1%}, "
        f"right after {row['right_after']} runs (median), "
        f"{row['superfluous']} of {row['settings']} settings superfluous, {row['missed']} missed."
    )


if __name__ == "__main__":
    sys.exit(main())
