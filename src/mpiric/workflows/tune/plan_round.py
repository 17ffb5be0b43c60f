"""The next round of a tune in rounds: search and proof gone through ahead of the runs they ask for."""

from functools import partial
from math import ceil

from mpiric.lab.lab import LoggedTrials, drive
from mpiric.model.batch import Spread
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.finding import Finding
from mpiric.model.narrator import Silence
from mpiric.model.run import Run
from mpiric.model.trial import Phase, Trial
from mpiric.tuning.blocks import deal
from mpiric.tuning.budget import Budget
from mpiric.tuning.store.store import TuneLog
from mpiric.workflows.submit.array_rounds import ArrayRound
from mpiric.workflows.tune.find_candidates import find_candidates, look_at_knobs
from mpiric.workflows.tune.lookahead import Lookahead, RoundFull
from mpiric.workflows.tune.prove_best import prove_best
from mpiric.workflows.tune.state import TuneState

_SEARCH_ROUNDS = 4  # each costs a wait in the queue
_MOST_ROUNDS = 12
_FEWEST_RUNS = 6  # of a block, besides the first ones of the command as it is
_PAIR = 2
_SEARCH_SHARE = 0.65  # of what is left of the budget, for all rounds of the search together
_LEARNING = "0-"  # blocks of round 0: their one run of the search is for learning, not for comparing


def plan_round(state: TuneState, array_round: ArrayRound) -> tuple[tuple[Run, ...], ...]:
    """The blocks of the round after this one; none when nothing more is asked for."""
    spread = state.request.spread
    assert spread is not None
    made = [t for t in state.earlier if _compares(t)]
    budget = budget_left(state)
    chosen = _chosen(state.log)
    searches = chosen is None and array_round.number < _SEARCH_ROUNDS
    fit = budget.runs_that_fit(max(state.run_s, 1e-3))
    share = ceil(_SEARCH_SHARE * fit / (_SEARCH_ROUNDS - array_round.number)) if searches else fit
    each = _room(spread, state.run_s, len(state.originals))
    fewest = min(each, _FEWEST_RUNS)
    capacity = spread.jobs * min(each, max(fewest, ceil(share / spread.jobs)))
    lookahead = Lookahead(made, capacity, state.request.seed)
    state.is_planned, state.known = True, lookahead.known
    left_runs = budget.runs if array_round.number < _MOST_ROUNDS else 0
    proved = [trial for trial in made if trial.phase is Phase.PROOF]
    state.logged = LoggedTrials(proved)
    # Decisions of the proof that depend on the remaining budget must not change from round to round: its runs
    # in earlier rounds are spent again.
    proof_s = (budget.seconds or 0.0) + sum(trial.wall_s for trial in proved)
    proof_runs = None if left_runs is None else left_runs + len(proved)
    for_proof = Budget(proof_s, proof_runs, clock=lambda: lookahead.clock() + state.logged.passed_s)
    for_search = Budget(budget.seconds, left_runs if searches else 0, clock=lookahead.clock)
    predict = partial(lookahead.predict, situation=state.situation)
    try:
        if chosen is None:
            state.budget, state.narrator = for_search, _Findings(array_round)
            chosen = drive(find_candidates(state), predict, state.report)
            if not lookahead.planned:
                state.log.append("candidates", {"configurations": [each.as_dict() for each in chosen]})
        else:
            look_at_knobs(state)
        if not lookahead.planned:
            state.budget, state.narrator = for_proof, Silence()
            drive(prove_best(state, chosen), predict, state.report, state.logged)
    except RoundFull:
        pass
    return deal(lookahead.planned, spread.jobs, fewest) if lookahead.planned else ()


def _compares(trial: Trial) -> bool:
    """Whether a run tells how fast something is: not one that was recorded, or made for learning."""
    learns = trial.phase is Phase.SEARCH and trial.block.startswith(_LEARNING)
    return trial.phase is not Phase.RECORD and not learns


def spent_s(log: TuneLog) -> float:
    """Time spent on runs, and on the benchmark of its collectives."""
    found = log.read()
    benchmarks = (event.get("elapsed_s") for event in found.events if event["event"] == "benchmark")
    return sum(trial.wall_s for trial in found.trials) + sum(s for s in benchmarks if isinstance(s, float))


def budget_left(state: TuneState) -> Budget:
    """What the runs made anywhere have left of the budget."""
    request = state.request
    left_runs = None if request.max_runs is None else max(0, request.max_runs - len(state.earlier))
    return Budget(max(0.0, request.budget_s - spent_s(state.log)), left_runs)


def _room(spread: Spread, run_s: float, first_runs: int) -> int:
    """Runs that a job has time for after those of the command as it is. Raises MpiricError below a pair."""
    each = int(spread.each_s / max(run_s, 1e-3)) - first_runs
    if each < _PAIR:
        minutes = ceil((first_runs + _FEWEST_RUNS) * run_s / 60)
        raise MpiricError(
            f"a run takes {run_s:.3g} s, so that a job of {spread.each_s:.3g} s has no time to compare any",
            hint=f"go on with --resume and a --slice of about {minutes}m",
        )
    return each


def _chosen(log: TuneLog) -> list[Configuration] | None:
    """What the search has brought to the proof, once it has: not to be changed while that goes on."""
    events = [event for event in log.read().events if event["event"] == "candidates"]
    if not events:
        return None
    configurations = events[-1]["configurations"]
    assert isinstance(configurations, list)
    return [Configuration.of(each) for each in configurations]


class _Findings(Silence):
    """Shows whoever follows what was noticed, once."""

    def __init__(self, array_round: ArrayRound) -> None:
        self._round = array_round

    def found(self, finding: Finding) -> None:
        """A line of its own."""
        if self._round.number == 0:
            self._round.tell(f"! {finding.says} ({finding.evidence})")

    def phase(self, title: str) -> None:
        """A line of its own."""
        if self._round.number == 0:
            self._round.tell(title)
