"""The next round of a tune in rounds: search and proof are replayed with predicted results.

Logged trials answer the runs that were made. Any other run is planned, and its answer is predicted under the
assumption that settings not measured so far have no effect. Planning ends when the round is full; after its
runs, search and proof are replayed with the measured results. Source: the "constant liar" of Ginsbourger, Le
Riche and Carraro 2010 (Kriging is well-suited to parallelize optimization).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from random import Random
from statistics import median

from mpiric.lab.lab import LoggedTrials, drive
from mpiric.lab.render import render
from mpiric.model.batch import Spread
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.finding import Finding
from mpiric.model.narrator import Silence
from mpiric.model.run import Run
from mpiric.model.situation import Situation
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.statistics.blocks import deal, levelled
from mpiric.tuning.objective import Budget
from mpiric.tuning.store import TuneLog
from mpiric.workflows.submit.array_rounds import ArrayRound
from mpiric.workflows.tune.find_candidates import find_candidates, look_at_knobs
from mpiric.workflows.tune.state import TuneState
from mpiric.workflows.tune.tune import prove_best

_SEARCH_ROUNDS = 4  # number of rounds of the search; each waits in the queue
_MOST_ROUNDS = 12
_FEWEST_RUNS = 6  # smallest block, without its first runs of the unchanged command
_PAIR = 2
_SEARCH_SHARE = 0.65  # share of the remaining budget for all rounds of the search
_LEARNING = "0-"  # prefix of the blocks of round 0, whose search run is for learning only


def plan_round(state: TuneState, array_round: ArrayRound) -> tuple[tuple[Run, ...], ...]:
    """Return the blocks of the next round; none if search and proof need no further run."""
    spread = state.request.spread
    assert spread is not None
    # Recorded runs, and the run that was made for learning, are compared with no other.
    trials = [
        trial
        for trial in state.earlier
        if trial.phase is not Phase.RECORD
        and not (trial.phase is Phase.SEARCH and trial.block.startswith(_LEARNING))
    ]
    budget = budget_left(state)
    chosen = _chosen(state.log)
    searches = chosen is None and array_round.number < _SEARCH_ROUNDS
    fit = budget.runs_that_fit(max(state.run_s, 1e-3))
    share = ceil(_SEARCH_SHARE * fit / (_SEARCH_ROUNDS - array_round.number)) if searches else fit
    job_runs = _room(spread, state.run_s, len(state.originals))
    fewest = min(job_runs, _FEWEST_RUNS)
    capacity = spread.jobs * min(job_runs, max(fewest, ceil(share / spread.jobs)))
    lookahead = Lookahead(trials, capacity, state.request.seed)
    state.is_planned, state.array_trials = True, lookahead.trials
    left_runs = budget.runs if array_round.number < _MOST_ROUNDS else 0
    proved = [trial for trial in trials if trial.phase is Phase.PROOF]
    state.logged = LoggedTrials(proved)
    # Decisions of the proof that depend on the remaining budget must not change from round to round: its runs
    # in earlier rounds are spent again.
    proof_s = (budget.seconds or 0.0) + sum(trial.wall_s for trial in proved)
    proof_runs = None if left_runs is None else left_runs + len(proved)
    for_proof = Budget(proof_s, proof_runs, clock=lambda: lookahead.passed_s + state.logged.passed_s)
    for_search = Budget(budget.seconds, left_runs if searches else 0, clock=lambda: lookahead.passed_s)
    predict = partial(lookahead.predict, situation=state.situation)
    try:
        if chosen is None:
            state.budget = for_search
            state.narrator = _Findings(array_round) if array_round.number == 0 else Silence()
            chosen = drive(find_candidates(state), predict, state.report)
            if not lookahead.planned:
                state.log.append(
                    "candidates", {"configurations": [candidate.as_dict() for candidate in chosen]}
                )
        else:
            look_at_knobs(state)
        if not lookahead.planned:
            state.budget, state.narrator = for_proof, Silence()
            drive(prove_best(state, chosen), predict, state.report, state.logged)
    except RoundFull:
        pass
    return deal(lookahead.planned, spread.jobs, fewest) if lookahead.planned else ()


def spent_s(log: TuneLog) -> float:
    """Return the time spent on runs and on the benchmark of collectives, in seconds."""
    content = log.read()
    benchmarks = (event.get("elapsed_s") for event in content.named("benchmark"))
    return sum(trial.wall_s for trial in content.trials) + sum(s for s in benchmarks if isinstance(s, float))


def budget_left(state: TuneState) -> Budget:
    """Return the budget that remains after the runs of all jobs."""
    request = state.request
    left_runs = None if request.max_runs is None else max(0, request.max_runs - len(state.earlier))
    return Budget(max(0.0, request.budget_s - spent_s(state.log)), left_runs)


def _room(spread: Spread, run_s: float, first_runs: int) -> int:
    """Return how many runs fit into a job after its baseline runs. Raises MpiricError below a pair."""
    runs = int(spread.each_s / max(run_s, 1e-3)) - first_runs
    if runs < _PAIR:
        minutes = ceil((first_runs + _FEWEST_RUNS) * run_s / 60)
        raise MpiricError(
            f"a run takes {run_s:.3g} s, so that a job of {spread.each_s:.3g} s has no time to compare any",
            hint=f"go on with --resume and a --slice of about {minutes}m",
        )
    return runs


def _chosen(log: TuneLog) -> list[Configuration] | None:
    """Return the logged candidates for the proof, None before the end of the search."""
    events = log.read().named("candidates")
    return [Configuration.of(candidate) for candidate in events[-1]["configurations"]] if events else None


class _Findings(Silence):
    """Writes findings and titles for the process that follows the tune."""

    def __init__(self, array_round: ArrayRound) -> None:
        self._round = array_round

    def found(self, finding: Finding) -> None:
        """Write a finding."""
        self._round.tell(f"! {finding.says} ({finding.evidence})")

    def phase(self, title: str) -> None:
        """Write the title of a phase."""
        self._round.tell(title)


class RoundFull(Exception):  # noqa: N818 - not an error: the round is planned
    """Ends planning when a round is full; never reaches the user."""


class Lookahead:
    """Predicts the trials of a plan; it runs nothing."""

    def __init__(self, trials: Sequence[Trial], capacity: int, seed: int = 0) -> None:
        self.trials = levelled(trials)
        self.planned: list[Run] = []
        self.passed_s = 0.0  # expected duration of the planned runs
        self._count = len(trials)
        self._capacity = capacity
        self._random = Random(f"mpiric round {seed} {len(trials)}")  # noqa: S311
        self._objectives: dict[Configuration, list[float]] = defaultdict(list)
        self._walls: dict[Configuration, list[float]] = defaultdict(list)
        for trial in self.trials:
            if trial.outcome is Outcome.OK and trial.objective is not None:
                self._objectives[trial.configuration].append(trial.objective)
                self._walls[trial.configuration].append(trial.wall_s)

    def predict(self, run: Run, situation: Situation) -> Trial:
        """Plan a run and return its predicted trial. Raises RoundFull."""
        assert run.stop_at is None, "a run cannot be stopped before its comparison is known"
        trial = Trial(
            run.configuration, run.phase, Outcome.REFUSED, 0.0, pair=run.pair, replicate=run.replicate
        )
        try:
            render(run.configuration, situation)
        except MpiricError as error:
            return replace(trial, reason=error.message)
        if len(self.planned) >= self._capacity and (run.pair < 0 or run.pair != self.planned[-1].pair):
            raise RoundFull
        self._count += 1
        self.planned.append(run)
        like = self._like(run.configuration)
        wall_s, values = median(self._walls[like]), self._objectives[like]
        self.passed_s += wall_s
        # A proof's length follows from how much its runs scatter.
        objective = self._random.choice(values) if run.phase is Phase.PROOF else median(values)
        return replace(trial, outcome=Outcome.OK, wall_s=wall_s, objective=objective, number=self._count)

    def _like(self, configuration: Configuration) -> Configuration:
        """Return the configuration or its largest measured part, of several the fastest."""
        settings = set(configuration.items)
        parts = [part for part in self._objectives if settings.issuperset(part.items)]
        return min(parts, key=lambda part: (-len(part.items), median(self._objectives[part])))
