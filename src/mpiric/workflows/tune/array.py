"""A tune in rounds: each element of an array makes a block of runs, and who comes last plans the next round.

A block begins with a few runs of the command as it is, so every element can render, judge and level its own
runs, wherever it is. The record of the tune takes in what the blocks have measured; the search and the proof
are then gone through with all that is known, and what they ask for beyond it is the next round.
"""

from dataclasses import replace
from math import ceil
from statistics import median

from mpiric.host.host import Host
from mpiric.host.processes.execution import Runner
from mpiric.model.batch import Spread
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.finding import Finding
from mpiric.model.narrator import Narrator, Silence
from mpiric.model.trial import Phase
from mpiric.model.tuned import Tuned
from mpiric.schedulers import installed_batch_scheduler
from mpiric.tuning.blocks import Planned, deal, left_of
from mpiric.tuning.budget import Budget
from mpiric.tuning.store.events import read_log
from mpiric.tuning.store.store import EVENTS, Store, TuneLog
from mpiric.workflows.fabric.probe import with_networks
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.submit.array_rounds import (
    ArrayRound,
    drop_after,
    is_double,
    submit_round,
    was_cancelled,
)
from mpiric.workflows.trials.findings import findings_of
from mpiric.workflows.trials.observe import Observed
from mpiric.workflows.tune.choose import space_of
from mpiric.workflows.tune.lookahead import LookaheadTrials, RoundFull
from mpiric.workflows.tune.state import TuneState
from mpiric.workflows.tune.tune import (
    TrialPlace,
    TuneRequest,
    find_candidates,
    learn_collectives,
    prove_best,
    trial_place,
    with_learned,
)
from mpiric.workflows.tune.write_results import write_results

_SEARCH_ROUNDS = 4  # each costs a wait in the queue
_MOST_ROUNDS = 12
_FEWEST_RUNS = 6  # of a block, besides the first ones of the command as it is
_PAIR = 2
_SEARCH_SHARE = 0.65  # of what is left of the budget, for all rounds of the search together
_LEARNING = "0-"  # blocks of round 0: their one run of the search is for learning, not for comparing


def work(
    request: TuneRequest, array_round: ArrayRound, element: int | None, host: Host, narrator: Narrator
) -> Tuned | None:
    """What a job of a round does; the result when the tune has come to its end with it, None otherwise."""
    if array_round.next.is_submitted or is_double(array_round, host):
        return None
    if array_round.next.is_planned and element is None:
        _hand_on(request, array_round, host, element)
        return None
    if element is None and was_cancelled(array_round, host):
        array_round.tell(f"round {array_round.number} was cancelled")
        return None
    try:
        return _work(request, array_round, element, host, narrator)
    except MpiricError as error:
        if element is None:
            raise
        array_round.tell(f"job {element} of round {array_round.number} gave up: {error.message}")
        return None


def _work(
    request: TuneRequest, array_round: ArrayRound, element: int | None, host: Host, narrator: Narrator
) -> Tuned | None:
    parsed = parse_job(request.argv, host, request.working_directory, request.environment, request.stdin)
    with Store.part(array_round.directory(element).absolute(), round=array_round.number) as log:
        begun = sum(event["event"] == "begun" for event in log.read().events)
        log.append("begun", {"job": installed_batch_scheduler(host).own_job(host.environ)})
        block = f"{array_round.number}-{'after' if element is None else element}.{begun}"
        with trial_place(request, parsed, log, host, narrator, Runner(), block) as place:
            if element is not None:
                _make(array_round, element, place, log, host, narrator)
            if element is None or array_round.is_complete:
                return _go_on(request, array_round, element, place, host, narrator)
    return None


def _make(
    array_round: ArrayRound, element: int, place: TrialPlace, log: TuneLog, host: Host, narrator: Narrator
) -> None:
    """The runs of a block that are not made yet."""
    tune = array_round.submission
    situation = with_learned(place.observed, tune, host).situation
    place.trials.watch_memory(situation)
    for run in left_of(array_round.block(element), log.read().trials):
        made = place.trials.run(situation, run.configuration, run.phase, run.limit_s, run.pair)
        narrator.trial(made.trial, None, float("inf"))
    array_round.finish(element)


def _go_on(
    request: TuneRequest,
    array_round: ArrayRound,
    element: int | None,
    place: TrialPlace,
    host: Host,
    narrator: Narrator,
) -> Tuned | None:
    """Plan the next round, or conclude; None also when another job does it."""
    try:
        main = Store().resume(array_round.submission)
    except MpiricError as error:
        array_round.tell(f"round {array_round.number}: {error.message}")
        return None  # should that one die, the job after the array goes on
    with main:
        if array_round.next.is_submitted:
            return None
        _take_in(array_round, main)
        state = _state(request, array_round, place, main, host, narrator)
        blocks = _plan(request, array_round, state, main)
        if not blocks:
            state.notes += place.copies.notes
            tuned = write_results(state, main, host, spent_s(main), request.output, site=request.site)
            if element is not None:
                drop_after(array_round, host)
            return tuned
        array_round.next.plan(blocks)
        _hand_on(request, array_round, host, element)
    return None


def _hand_on(request: TuneRequest, array_round: ArrayRound, host: Host, element: int | None) -> None:
    assert request.spread is not None
    try:
        submit_round(array_round.next, request.spread, host, array_round.tell)
        if element is not None:
            drop_after(array_round, host)
    except MpiricError as error:
        array_round.tell(
            f"{error.message}: round {array_round.next.number} is submitted by who follows, not from a node"
        )


def _take_in(array_round: ArrayRound, main: TuneLog) -> None:
    """Into the record of the tune, what the blocks have measured and it does not have yet."""
    have = {(trial.block, trial.number) for trial in main.read().trials}
    for number in range(array_round.number + 1):
        place = replace(array_round, number=number).place
        for log in sorted(place.glob(f"*/{EVENTS}")):
            for trial in read_log(log).trials:
                if (trial.block, trial.number) not in have:
                    main.append_trial(trial)


def _state(
    request: TuneRequest,
    array_round: ArrayRound,
    place: TrialPlace,
    main: TuneLog,
    host: Host,
    narrator: Narrator,
) -> TuneState:
    """Where the tune stands: all that was measured anywhere, and what is particular to the first round."""
    log = main.read()
    observed = _with_known_networks(place.observed, main, host, narrator)
    state = TuneState(request.argv, observed, request.objective, request.checked_output, log.trials)
    if array_round.number == 0:  # in the job that looks at the command, before there is an array
        left = Budget(request.budget_s - spent_s(main))
        learn_collectives(request, state, main, place.trials, left, host, narrator)
    else:
        state.observed = with_learned(observed, main.path, host)
    return state


def spent_s(main: TuneLog) -> float:
    """On runs, and on the benchmark of its collectives."""
    log = main.read()
    benchmarks = (event.get("elapsed_s") for event in log.events if event["event"] == "benchmark")
    return sum(trial.wall_s for trial in log.trials) + sum(s for s in benchmarks if isinstance(s, float))


def _with_known_networks(observed: Observed, main: TuneLog, host: Host, narrator: Narrator) -> Observed:
    """Measured once in a tune."""
    known = next((event for event in main.read().events if event["event"] == "networks"), None)
    if known is None:
        observed = with_networks(observed, host, narrator)
        main.append("networks", {"names": list(observed.situation.observation.networks)})
        return observed
    names = known["names"]
    situation = observed.situation
    networks = tuple(str(name) for name in names) if isinstance(names, list) else ()
    return replace(
        observed,
        situation=replace(situation, observation=replace(situation.observation, networks=networks)),
    )


def _plan(
    request: TuneRequest, array_round: ArrayRound, state: TuneState, main: TuneLog
) -> tuple[tuple[Planned, ...], ...]:
    """The blocks of the next round; none when nothing more is asked for."""
    assert request.spread is not None
    made = [t for t in state.earlier if t.phase is not Phase.SEARCH or not t.block.startswith(_LEARNING)]
    run_s = median(trial.wall_s for trial in state.observed.originals)
    left_s = max(0.0, request.budget_s - spent_s(main))
    left_runs = None if request.max_runs is None else max(0, request.max_runs - len(state.earlier))
    chosen = _chosen(main)
    searches = chosen is None and array_round.number < _SEARCH_ROUNDS
    fit = Budget(left_s, left_runs).runs_that_fit(max(run_s, 1e-3))
    share = ceil(_SEARCH_SHARE * fit / (_SEARCH_ROUNDS - array_round.number)) if searches else fit
    each = _room(request.spread, run_s, len(state.observed.originals))
    fewest = min(each, _FEWEST_RUNS)
    jobs = request.spread.jobs
    lookahead = LookaheadTrials(made, jobs * min(each, max(fewest, ceil(share / jobs))), request.seed)
    state.known = lookahead.known
    budget = Budget(left_s, left_runs if array_round.number < _MOST_ROUNDS else 0, clock=lookahead.clock)
    try:
        if chosen is None:
            narrator = _Findings(array_round)
            for_search = budget if searches else Budget(left_s, 0, clock=lookahead.clock)
            chosen = find_candidates(request, state, lookahead, for_search, narrator, run_s)
            if not lookahead.asked:
                main.append("candidates", {"configurations": [each.as_dict() for each in chosen]})
        else:
            _look_again(request, state)
        if not lookahead.asked:
            prove_best(request, state, chosen, lookahead, budget, Silence())
    except RoundFull:
        pass
    return deal(lookahead.asked, jobs, fewest) if lookahead.asked else ()


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


def _chosen(main: TuneLog) -> list[Configuration] | None:
    """What the search has brought to the proof, once it has: not to be changed while that goes on."""
    said = [event for event in main.read().events if event["event"] == "candidates"]
    if not said:
        return None
    configurations = said[-1]["configurations"]
    assert isinstance(configurations, list)
    return [Configuration.of(each) for each in configurations]


def _look_again(request: TuneRequest, state: TuneState) -> None:
    """What the page of the result says of knobs and findings."""
    situation = state.observed.situation
    state.findings = findings_of(situation)
    state.space = space_of(
        situation, request.only, request.without, site=request.site, advised=request.advised
    )


class _Findings(Silence):
    """Tells whoever follows what was noticed, once."""

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
