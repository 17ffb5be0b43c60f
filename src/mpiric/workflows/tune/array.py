"""A tune in rounds: each element of a job array makes a block of runs, and the last one plans the next round.

A block begins with a few runs of the unchanged command, so that every element can render, judge and level its
own runs on any node. The trials of all blocks are copied into the log of the tune. Search and proof are then
replayed with these trials, and further runs that they request are the next round.

Planning. Logged trials answer the runs that were made. Any other run is planned, and its answer is predicted
under the assumption that settings not measured so far have no effect. Planning ends when the round is full;
after its runs, search and proof are replayed with the measured results. Source: the "constant liar" of
Ginsbourger, Le Riche and Carraro 2010 (Kriging is well-suited to parallelize optimization).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import ceil
from random import Random
from statistics import median

from mpiric.host.command_log import masked
from mpiric.host.files import is_directory
from mpiric.host.host import Host
from mpiric.host.processes.execution import Runner
from mpiric.lab.directory_runs import RECORDS, read_recorded
from mpiric.lab.lab import LoggedTrials, drive
from mpiric.lab.render import render
from mpiric.model.batch import Spread
from mpiric.model.configuration import Configuration
from mpiric.model.errors import Finding, MpiricError
from mpiric.model.quoting import sh_command
from mpiric.model.run import Narrator, Outcome, Phase, Plan, Run, Trial
from mpiric.model.situation import Situation
from mpiric.model.tuned import Tuned
from mpiric.schedulers import installed_batch_scheduler
from mpiric.statistics.blocks import deal, levelled
from mpiric.tuning.events import read_log
from mpiric.tuning.objective import Budget
from mpiric.tuning.store import EVENTS, Store, TuneLog
from mpiric.workflows.fabric.bench import with_network_order, with_networks
from mpiric.workflows.submit.array_rounds import (
    ArrayRound,
    drop_after,
    is_double,
    submit_round,
    was_cancelled,
)
from mpiric.workflows.trials.step_markers import keep_marks
from mpiric.workflows.tune.check_answer import observe_answer
from mpiric.workflows.tune.collectives import learn_collectives, with_learned
from mpiric.workflows.tune.find_candidates import find_candidates, look_at_knobs
from mpiric.workflows.tune.space import find_rank_orders, with_planned_orders
from mpiric.workflows.tune.start import observe_command, open_tune, parse_request
from mpiric.workflows.tune.state import TuneRequest, TuneState
from mpiric.workflows.tune.tune import prove_best
from mpiric.workflows.tune.write_results import write_results


def work(
    request: TuneRequest, array_round: ArrayRound, element: int | None, host: Host, narrator: Narrator
) -> Tuned | None:
    """Do the work of one job of a round; return the result if the tune ends with it, else None."""
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
    parsed = parse_request(request, host)
    with Store.part(array_round.directory(element).absolute(), round=array_round.number) as log:
        attempts = len(log.read().named("begun"))
        log.append("begun", {"job": installed_batch_scheduler(host).own_job(host.environ)})
        block = f"{array_round.number}-{'after' if element is None else element}.{attempts}"
        # Only the first job records the command.
        earlier = read_log(array_round.submission / EVENTS) if array_round.number else None
        with open_tune(request, parsed, log, host, narrator, Runner()) as state:
            state.lab.block = block
            drive(observe_command(state, parsed, host, earlier), state.lab.measure, state.report)
            if element is not None:
                situation = with_learned(state.situation, array_round.submission, host)
                situation = with_planned_orders(situation, array_round.submission, host)
                state.lab.judge.limit_memory(situation)
                missing = _runs_of(array_round.block(element), situation)
                drive(missing, state.lab.measure, state.report, state.logged)
                array_round.finish(element)
            if element is None or array_round.is_complete:
                return _go_on(state, array_round, element, host)
    return None


def _runs_of(block: Iterable[Run], situation: Situation) -> Plan[None]:
    for run in block:
        yield replace(run, situation=situation)


def _go_on(state: TuneState, array_round: ArrayRound, element: int | None, host: Host) -> Tuned | None:
    """Plan the next round, or write the results; None also when another job does it."""
    try:
        main = Store().resume(array_round.submission)
    except MpiricError as error:
        array_round.tell(f"round {array_round.number}: {error.message}")
        return None  # if the other job dies, the job after the array continues
    with main:
        if array_round.next.is_submitted:
            return None
        _take_in(array_round, main)
        _learn(state, array_round, main, host)
        blocks = plan_round(state, array_round)
        if not blocks:
            _observe_answer(state, array_round, main, host)
            tuned = write_results(state, host, spent_s(main))
            if element is not None:
                drop_after(array_round, host)
            return tuned
        array_round.next.plan(blocks)
        _hand_on(state.request, array_round, host, element)
    return None


def _observe_answer(state: TuneState, array_round: ArrayRound, main: TuneLog, host: Host) -> None:
    """Record the answer in this job, to compare it with the record of the command from the first job."""
    records = replace(array_round, number=0).directory(None) / RECORDS
    for directory in sorted(path for path in records.glob("*") if is_directory(path)):
        with suppress(MpiricError):  # compare nothing without a record
            state.recorded = (read_recorded(directory, sh_command(masked(state.request.argv))),)
    state.is_planned, state.budget = False, budget_left(state)
    drive(observe_answer(state, host), state.lab.measure, state.report)
    _take_in(array_round, main)


def _hand_on(request: TuneRequest, array_round: ArrayRound, host: Host, element: int | None) -> None:
    assert request.spread is not None
    try:
        submit_round(array_round.next, request.spread, host, array_round.tell)
        if element is not None:
            drop_after(array_round, host)
    except MpiricError as error:
        array_round.tell(f"{error.message}: the following process submits round {array_round.next.number}")


def _take_in(array_round: ArrayRound, main: TuneLog) -> None:
    """Copy trials of the blocks that the log of the tune lacks into that log."""
    copied = {(trial.block, trial.number) for trial in main.read().trials}
    for number in range(array_round.number + 1):
        path = replace(array_round, number=number).path
        for log in sorted(path.glob(f"*/{EVENTS}")):
            for trial in read_log(log).trials:
                if (trial.block, trial.number) not in copied:
                    main.append_trial(trial)


def _learn(state: TuneState, array_round: ArrayRound, main: TuneLog, host: Host) -> None:
    """Replace the state of a block by the state of the tune: all trials, and the results of learning."""
    state.log, state.earlier = main, main.read().trials
    _learn_networks(state, host)
    find_rank_orders(state, host)
    if array_round.number == 0:  # the job that observes the command, before the array
        if state.marks is not None:
            keep_marks(main, state.marks)
        else:
            main.append("whole runs", {"why": state.marks_why})
        state.budget = Budget(state.request.budget_s - spent_s(main))
        drive(learn_collectives(state, host), state.lab.measure, state.report)
    else:
        state.situation = with_learned(state.situation, main.path, host)
        reasons = [event["why"] for event in main.read().named("whole runs")]
        state.marks_why = str(reasons[0]) if reasons else state.marks_why


def _learn_networks(state: TuneState, host: Host) -> None:
    """Measure the networks once in a tune."""
    logged = state.log.read().named("networks")
    if not logged:
        state.situation = with_networks(state.situation, host, state.narrator)
        observation = state.situation.observation
        networks, used = list(observation.networks), list(observation.networks_used)
        provider = observation.provider_used
        state.log.append("networks", {"names": networks, "used": used, "provider": provider})
        return
    names, of_library = logged[0]["names"], logged[0].get("used")
    of_library = tuple(map(str, of_library)) if isinstance(of_library, list) else ()
    provider = str(logged[0].get("provider", ""))
    state.situation = with_network_order(state.situation, tuple(names), of_library, provider)


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
    events = state.log.read().named("candidates")  # none before the end of the search
    chosen = [Configuration.of(candidate) for candidate in events[-1]["configurations"]] if events else None
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
            state.narrator = _Findings(array_round) if array_round.number == 0 else Narrator()
            chosen = drive(find_candidates(state), predict, state.report)
            if not lookahead.planned:
                state.log.append(
                    "candidates", {"configurations": [candidate.as_dict() for candidate in chosen]}
                )
        else:
            look_at_knobs(state)
        if not lookahead.planned:
            state.budget, state.narrator = for_proof, Narrator()
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
            f"--slice is too short: one run takes {run_s:.3g} s, a job only {spread.each_s:.3g} s",
            hint=f"continue with --resume --slice {minutes}m",
        )
    return runs


class _Findings(Narrator):
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
