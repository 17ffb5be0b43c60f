"""Quality, number of runs and size of the answers of search and proof, on simulated programs.

No program runs: times with noise come from `tests/support/landscapes.py`, by seed, so results of two versions
can be compared digit by digit on any machine. Each kind of programs has four rows: the best answer without
superfluous settings, by the true times; the candidate of the search; the answer after the proof (nothing, if
it shows no gain); and the answer of a tune with few runs for both.
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
from mpiric.model.run import Run, Trial
from mpiric.plans.budget import search_budget
from mpiric.plans.evaluator import Evaluator
from mpiric.plans.search import ProofCandidate, search
from mpiric.plans.smallest import SmallestAnswer
from mpiric.plans.stages import EFFORTS, Effort
from mpiric.statistics.claims import StoppingRule
from mpiric.tuning.objective import Budget

_GOAL = 0.02  # loss of a right answer
_EFFECT = 0.01  # minimum contribution of a setting, as in a proof
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
    """Quality of the answer of a search or proof; losses are relative to the true best, 0.02 for 2 %."""

    loss: float
    settings: int
    superfluous: int
    missed: int
    right_after: int | None
    runs: int


Answers = tuple[Answer, ...]  # one entry per name in _ANSWERS_OF


def main() -> int:
    """Search and prove many programs of each kind; print and save the table."""
    parser = options("search_quality", "How good, quick and slim are the answers of the search?")
    parser.add_argument("--programs", type=int, help="programs of each kind (default 32, quick 4)")
    parser.add_argument("--runs", type=int, default=25, help="number of runs of one search")
    parser.add_argument("--proof-runs", type=int, default=200, help="maximum number of runs of one proof")
    parser.add_argument("--effort", choices=[*EFFORTS], default="normal")
    parser.add_argument("--short-runs", type=int, default=80, help="number of runs of one short tune")
    return run("search_quality", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Measure the rows of each kind of programs."""
    programs = arguments.programs or (4 if arguments.quick else 32)
    seeds = range(1000 + arguments.seed, 1000 + arguments.seed + programs)
    rows: list[dict[str, Any]] = []
    every: list[Answers] = []
    for kind in _KINDS:
        name = ", ".join(
            f"{word} {value:.0%}" if value < 2 else f"{value} {word}" for word, value in kind.items()
        )
        tell(name)
        answers = [answers_of(partial(made_up, seed, kind), seed, arguments) for seed in seeds]
        rows += rows_of(name, answers)
        every += answers
    rows += rows_of("all", every)
    return Result(COLUMNS, rows, summary_of(rows[-len(_ANSWERS_OF) :]))


def made_up(seed: int, kind: Mapping[str, float]) -> Landscape:
    """Return a simulated program of a kind."""
    return landscape(seed, SHAPES[seed % len(SHAPES)], crashing=0.05, **kind)  # type: ignore[arg-type]


def answers_of(make: Callable[[], Landscape], seed: int, arguments: Namespace) -> Answers:
    """Return the answers for one program: the best one, the search's, the proof's, a short tune's."""
    program = make()
    best = judged(program, without_superfluous(program), None)
    effort = EFFORTS[arguments.effort]
    candidate, after = _searched(program, Budget(runs=arguments.runs), seed, effort)
    searched = judged(program, candidate.configuration, after)
    proved = judged(
        program, _proved(program, candidate, Budget(runs=arguments.proof_runs), seed, effort), after
    )
    return best, searched, proved, _short_tune(make(), arguments.short_runs, seed, effort)


def without_superfluous(program: Landscape) -> Configuration:
    """Return the best configuration without settings that contribute less than the minimum."""
    answer = min(
        (time, configuration.items) for configuration, time in program.truth.items() if time is not None
    )[1]
    while answer:
        worth = {knob: loss_without(program, Configuration(answer), knob) for knob, _ in answer}
        weakest = min(worth, key=lambda knob: worth[knob])
        if worth[weakest] >= _EFFECT:
            break
        answer = tuple(item for item in answer if item[0] != weakest)
    return Configuration(answer)


def _searched(
    program: Landscape, budget: Budget, seed: int, effort: Effort
) -> tuple[ProofCandidate, int | None]:
    """Return the best candidate of a search, and the number of runs until the search was right."""
    trials: list[Trial] = []

    def measured(run: Run) -> Trial:
        trials.append(program.measure(run.configuration, inf if run.limit_s is None else run.limit_s))
        return trials[-1]

    result = drive(search(Evaluator(program.space, budget), effort, seed), measured)
    best = result.candidates[0] if result.candidates else ProofCandidate(Configuration(), 1.0)
    return best, right_after(trials, lambda configuration: program.regret(configuration) <= _GOAL)


def _short_tune(program: Landscape, runs: int, seed: int, effort: Effort) -> Answer:
    """Return the answer of a tune whose search and proof share a number of runs, as with `--max-runs`."""
    budget = Budget(runs=runs)
    shares = effort.proves_shares
    of_search = search_budget(budget, lambda: 2.0, StoppingRule(), proves_shares=shares)
    candidate, after = _searched(program, of_search, seed, effort)
    budget.spend(of_search.runs_done)
    return judged(program, _proved(program, candidate, budget, seed, effort), after)


def judged(program: Landscape, answer: Configuration, after: int | None) -> Answer:
    """Return the quality of an answer by the true times."""
    return Answer(
        loss=program.regret(answer),
        settings=len(answer.items),
        superfluous=sum(loss_without(program, answer, knob) < _EFFECT for knob, _ in answer.items),
        missed=missed(program, answer),
        right_after=after,
        runs=program.runs,
    )


def _proved(
    program: Landscape, candidate: ProofCandidate, budget: Budget, seed: int, effort: Effort
) -> Configuration:
    """Return the candidate after the proof; with proved shares each setting is a separate unit."""

    def measured(run: Run) -> Trial:
        limit_s = inf if run.stop_at is None else run.stop_at
        trial = program.measure(run.configuration, limit_s)
        return replace(trial, phase=run.phase, pair=run.pair, replicate=run.replicate)

    answer = candidate.configuration
    proofs = SmallestAnswer(
        answer,
        units_of=lambda answer: tuple((knob,) for knob, _ in answer.items) if effort.proves_shares else (),
        rule=StoppingRule(),
        budget=budget,
        round_of=LoggedTrials().round_of,
        say=lambda _: None,
        doubtful=candidate.doubtful,
        evident=candidate.evident,
        seed=seed,
        is_clear=candidate.is_clear,
    )
    evidence = drive(proofs.prove(), measured).evidence if answer.items else None
    is_faster = evidence is not None and evidence.verdict is Verdict.FASTER
    return evidence.configuration if evidence is not None and is_faster else Configuration()


def loss_without(program: Landscape, configuration: Configuration, knob: str) -> float:
    """Return the true slowdown of a configuration without one of its settings."""
    reduced = Configuration(tuple(item for item in configuration.items if item[0] != knob))
    return (1 + program.regret(reduced)) / (1 + program.regret(configuration)) - 1


def missed(program: Landscape, configuration: Configuration) -> int:
    """Return the number of knobs that the answer does not set although one of their values is faster."""
    settings = configuration.as_dict()
    count = 0
    for dimension in program.space.dimensions:
        if dimension.knob in settings:
            continue
        with_value = (Configuration.of({**settings, dimension.knob: value}) for value in dimension.values)
        gains = (program.regret(configuration) - program.regret(c) for c in with_value if program.works(c))
        count += max(gains, default=0.0) > _EFFECT
    return count


def rows_of(kind: str, answers: Sequence[Answers]) -> list[dict[str, Any]]:
    """Return the rows of a kind, one for each of the answers."""
    return [row_of(kind, *named) for named in zip(_ANSWERS_OF, zip(*answers, strict=True), strict=True)]


def row_of(kind: str, answer_of: str, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return one row of the table."""
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
    """Return the summary of all programs."""
    return " ".join(
        f"{row['answer_of'].capitalize()}: {row['within']:.0%} within 2 % of the best, "
        f"mean loss {row['loss_mean']:.1%}, {row['superfluous']} of {row['settings']} settings superfluous, "
        f"{row['missed']} missed, {row['runs']} runs."
        for row in rows
    )


if __name__ == "__main__":
    sys.exit(main())
