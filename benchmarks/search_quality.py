"""How good, quick and slim the answers of search and proof are on made-up programs of known true times.

No program runs: times come from `tests/support/landscapes.py`, noise included, by seed. So the numbers of two
versions can be compared digit by digit, on any machine. Each kind of programs has four lines: the best answer
of which no setting is superfluous, by the true times; what the search sends to the proof; what the proof
leaves of it (nothing, where it shows no gain); and the answer of a whole tune that has few runs for both.
"""

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from statistics import mean, median
from typing import Any

from tests.support.landscapes import SHAPES, Landscape, landscape

from benchmarks._report import Result, options, run, tell
from benchmarks._search_trail import right_after
from mpiric.lab.lab import LoggedTrials, drive
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Verdict
from mpiric.model.run import Run
from mpiric.model.trial import Trial
from mpiric.plans.effort import EFFORTS, Effort
from mpiric.plans.evaluator import Evaluator
from mpiric.plans.search import ProofCandidate, search
from mpiric.plans.smallest import ProofPlan, SmallestAnswer
from mpiric.tuning.budget import Budget
from mpiric.tuning.proof.stopping_rule import StoppingRule
from mpiric.workflows.tune.allowances import search_budget

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
    {"noise": 0.03, "step": 0.4},
)

COLUMNS = {
    "kind": "programs",
    "answer_of": "answer of",
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


_ANSWERS_OF = ("truth", "search", "proof", "short tune")


@dataclass(frozen=True)
class Answer:
    """What one search or proof came to: losses are relative to the true best, 0.02 for 2 %."""

    loss: float
    settings: int
    superfluous: int
    missed: int
    right_after: int | None
    runs: int


Answers = tuple[Answer, ...]  # one for each of _ANSWERS_OF


def main() -> int:
    """Search and prove many programs of each kind."""
    parser = options("search_quality", "How good, quick and slim are the answers of the search?")
    parser.add_argument("--programs", type=int, help="of each kind (default 32, quick 4)")
    parser.add_argument("--runs", type=int, default=25, help="of one search")
    parser.add_argument("--proof-runs", type=int, default=200, help="of one proof, at most")
    parser.add_argument("--effort", choices=[*EFFORTS], default="normal")
    parser.add_argument("--short-runs", type=int, default=80, help="of one short tune")
    return run("search_quality", parser.parse_args(), measure)


def measure(given: Namespace) -> Result:
    """A row for each kind of programs."""
    programs = given.programs or (4 if given.quick else 32)
    seeds = range(1000 + given.seed, 1000 + given.seed + programs)
    rows: list[dict[str, Any]] = []
    every: list[Answers] = []
    for kind in _KINDS:
        name = ", ".join(
            f"{word} {value:.0%}" if value < 2 else f"{value} {word}" for word, value in kind.items()
        )
        tell(name)
        answers = [answers_of(partial(made_up, seed, kind), seed, given) for seed in seeds]
        rows += rows_of(name, answers)
        every += answers
    rows += rows_of("all", every)
    return Result(COLUMNS, rows, summary_of(rows[-len(_ANSWERS_OF) :]))


def made_up(seed: int, kind: Mapping[str, float]) -> Landscape:
    """A program of a kind."""
    return landscape(seed, SHAPES[seed % len(SHAPES)], crashing=0.05, **kind)  # type: ignore[arg-type]


def answers_of(make: Callable[[], Landscape], seed: int, given: Namespace) -> Answers:
    """The answers for one program: the best one, the search's, the proof's, and that of a short tune."""
    made = make()
    best = judged(made, without_superfluous(made), None)
    effort = EFFORTS[given.effort]
    found, after = _searched(made, Budget(runs=given.runs), seed, effort)
    searched = judged(made, found.configuration, after)
    proved = judged(made, _proved(made, found, Budget(runs=given.proof_runs), seed, effort), after)
    return best, searched, proved, _short_tune(make(), given.short_runs, seed, effort)


def without_superfluous(made: Landscape) -> Configuration:
    """The best configuration without settings that contribute less than the effect that counts."""
    answer = min((time, each.items) for each, time in made.truth.items() if time is not None)[1]
    while answer:
        worth = {knob: loss_without(made, Configuration(answer), knob) for knob, _ in answer}
        least = min(worth, key=lambda knob: worth[knob])
        if worth[least] >= _EFFECT:
            break
        answer = tuple(item for item in answer if item[0] != least)
    return Configuration(answer)


def _searched(
    made: Landscape, budget: Budget, seed: int, effort: Effort
) -> tuple[ProofCandidate, int | None]:
    """The best candidate of a search, and after how many runs the search was right."""
    trials: list[Trial] = []

    def measured(run: Run) -> Trial:
        trials.append(made.measure(run.configuration, inf if run.limit_s is None else run.limit_s))
        return trials[-1]

    found = drive(search(Evaluator(made.space, budget), effort, seed), measured)
    best = found.candidates[0] if found.candidates else ProofCandidate(Configuration(), 1.0)
    return best, right_after(trials, lambda configuration: made.regret(configuration) <= _GOAL)


def _short_tune(made: Landscape, runs: int, seed: int, effort: Effort) -> Answer:
    """The answer of a tune whose search and proof share some runs, as `mpiric tune --max-runs` does."""
    whole = Budget(runs=runs)
    of_search = search_budget(whole, 1.0, lambda: 1.0, StoppingRule())
    found, after = _searched(made, of_search, seed, effort)
    whole.spend(of_search.runs_done)
    return judged(made, _proved(made, found, whole, seed, effort), after)


def judged(made: Landscape, answer: Configuration, after: int | None) -> Answer:
    """What an answer is worth in truth."""
    return Answer(
        loss=made.regret(answer),
        settings=len(answer.items),
        superfluous=sum(loss_without(made, answer, knob) < _EFFECT for knob, _ in answer.items),
        missed=missed(made, answer),
        right_after=after,
        runs=made.runs,
    )


def _proved(
    made: Landscape, found: ProofCandidate, budget: Budget, seed: int, effort: Effort
) -> Configuration:
    """What the proof leaves of a candidate; with proved shares each setting is a unit of its own."""

    def measured(run: Run) -> Trial:
        limit_s = inf if run.stop_at is None else run.stop_at
        trial = made.measure(run.configuration, limit_s)
        return replace(trial, phase=run.phase, pair=run.pair, replicate=run.replicate)

    plan = ProofPlan(
        units_of=lambda answer: tuple((knob,) for knob, _ in answer.items) if effort.proves_shares else (),
        rule=StoppingRule(),
        budget=budget,
        round_of=LoggedTrials().round_of,
        say=lambda _: None,
        doubtful=found.doubtful,
        evident=found.evident,
        seed=seed,
    )
    answer = found.configuration
    proofs = SmallestAnswer(plan, answer)
    evidence = drive(proofs.prove(), measured).proof.evidence if answer.items else None
    is_faster = evidence is not None and evidence.verdict is Verdict.FASTER
    return evidence.configuration if evidence is not None and is_faster else Configuration()


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


def rows_of(kind: str, answers: Sequence[Answers]) -> list[dict[str, Any]]:
    """The lines of a kind, one for each of the answers."""
    return [row_of(kind, *each) for each in zip(_ANSWERS_OF, zip(*answers, strict=True), strict=True)]


def row_of(kind: str, answer_of: str, answers: Sequence[Answer]) -> dict[str, Any]:
    """One line of the table."""
    right = [answer.right_after for answer in answers if answer.right_after is not None]
    return {
        "kind": kind,
        "answer_of": answer_of,
        "within": round(sum(answer.loss <= _GOAL for answer in answers) / len(answers), 3),
        "loss_median": round(median(answer.loss for answer in answers), 4),
        "loss_mean": round(mean(answer.loss for answer in answers), 4),
        "right_after": median(right) if right else None,
        "never_right": len(answers) - len(right) if answers[0].runs else None,
        "settings": round(mean(answer.settings for answer in answers), 2),
        "superfluous": round(mean(answer.superfluous for answer in answers), 2),
        "missed": round(mean(answer.missed for answer in answers), 2),
        "runs": round(mean(answer.runs for answer in answers), 1),
    }


def summary_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """The lines of all programs as sentences."""
    return " ".join(
        f"{row['answer_of'].capitalize()}: {row['within']:.0%} within 2 % of the best, "
        f"mean loss {row['loss_mean']:.1%}, {row['superfluous']} of {row['settings']} settings superfluous, "
        f"{row['missed']} missed, {row['runs']} runs."
        for row in rows
    )


if __name__ == "__main__":
    sys.exit(main())
