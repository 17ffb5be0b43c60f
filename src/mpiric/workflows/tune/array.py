"""A tune in rounds: each element of an array makes a block of runs, and who comes last plans the next round.

A block begins with a few runs of the command as it is, so every element can render, judge and level its own
runs, wherever it is. The record of the tune takes in what the blocks have measured; the search and the proof
are then gone through with all that is known, and what they ask for beyond it is the next round.
"""

from dataclasses import replace
from math import ceil
from statistics import median

from mpiric.host.host import Host
from mpiric.model.batch import Spread
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.finding import Finding
from mpiric.model.narrator import Narrator, Silence
from mpiric.model.trial import Phase
from mpiric.model.tuned import Tuned
from mpiric.tuning.blocks import Planned, deal, left_of
from mpiric.tuning.budget import Budget
from mpiric.tuning.store.events import read_log
from mpiric.tuning.store.store import EVENTS, Store, TuneLog
from mpiric.workflows.fabric.probe import with_networks
from mpiric.workflows.launch.parse_job import understand
from mpiric.workflows.submit.array_rounds import Round, drop_after, is_double, submit_round, was_cancelled
from mpiric.workflows.trials.findings import findings_of
from mpiric.workflows.trials.observe import Observed
from mpiric.workflows.tune.choose import space_of
from mpiric.workflows.tune.lookahead import Ahead, RoundIsFull
from mpiric.workflows.tune.state import Course
from mpiric.workflows.tune.tune import (
    TrialPlace,
    TuneRequest,
    find_candidates,
    learn_collectives,
    prove_best,
    trial_place,
    with_learned,
)
from mpiric.workflows.tune.write_results import conclude

_SEARCH_ROUNDS = 4  # each costs a wait in the queue
_MOST_ROUNDS = 12
_FEWEST_RUNS = 6  # of a block, besides the first ones of the command as it is
_PAIR = 2
_SEARCH_SHARE = 0.65  # of what is left of the budget, for all rounds of the search together
_LEARNING = "0-"  # blocks of round 0: their one run of the search is for learning, not for comparing


def work(
    request: TuneRequest, one: Round, element: int | None, host: Host, narrator: Narrator
) -> Tuned | None:
    """What a job of a round does; the result when the tune has come to its end with it, None otherwise."""
    if one.next.is_submitted or is_double(one, host):
        return None
    if one.next.is_planned and element is None:
        _hand_on(request, one, host, element)
        return None
    if element is None and was_cancelled(one, host):
        one.tell(f"round {one.number} was cancelled")
        return None
    try:
        return _work(request, one, element, host, narrator)
    except MpiricError as error:
        if element is None:
            raise
        one.tell(f"job {element} of round {one.number} gave up: {error.message}")
        return None


def _work(
    request: TuneRequest, one: Round, element: int | None, host: Host, narrator: Narrator
) -> Tuned | None:
    understood = understand(request.argv, host, request.working_directory, request.environment, request.stdin)
    with Store.part(one.directory(element).absolute(), round=one.number) as record:
        begun = sum(event["event"] == "begun" for event in record.read().events)
        record.append("begun", {"job": host.environ.get("SLURM_JOB_ID", "")})
        block = f"{one.number}-{'after' if element is None else element}.{begun}"
        with trial_place(request, understood, record, host, narrator, block) as place:
            if element is not None:
                _make(one, element, place, record, host, narrator)
            if element is None or one.is_complete:
                return _go_on(request, one, element, place, host, narrator)
    return None


def _make(
    one: Round, element: int, place: TrialPlace, record: TuneLog, host: Host, narrator: Narrator
) -> None:
    """The runs of a block that are not made yet."""
    tune = one.submission
    situation = with_learned(place.observed, tune, host).situation
    place.trials.watch_memory(situation)
    for run in left_of(one.block(element), record.read().trials):
        made = place.trials.run(situation, run.configuration, run.phase, run.limit_s, run.pair)
        narrator.trial(made.trial, None, float("inf"))
    one.finish(element)


def _go_on(
    request: TuneRequest, one: Round, element: int | None, place: TrialPlace, host: Host, narrator: Narrator
) -> Tuned | None:
    """Plan the next round, or conclude; None also when another job does it."""
    try:
        main = Store().resume(one.submission)
    except MpiricError as error:
        one.tell(f"round {one.number}: {error.message}")
        return None  # should that one die, the job after the array goes on
    with main:
        if one.next.is_submitted:
            return None
        _take_in(one, main)
        course = _course(request, one, place, main, host, narrator)
        blocks = _plan(request, one, course, main)
        if not blocks:
            course.notes += place.copies.notes
            tuned = conclude(course, main, host, spent_s(main), request.output, site=request.site)
            if element is not None:
                drop_after(one, host)
            return tuned
        one.next.plan(blocks)
        _hand_on(request, one, host, element)
    return None


def _hand_on(request: TuneRequest, one: Round, host: Host, element: int | None) -> None:
    assert request.spread is not None
    try:
        submit_round(one.next, request.spread, host, one.tell)
        if element is not None:
            drop_after(one, host)
    except MpiricError as error:
        one.tell(f"{error.message}: round {one.next.number} is submitted by who follows, not from a node")


def _take_in(one: Round, main: TuneLog) -> None:
    """Into the record of the tune, what the blocks have measured and it does not have yet."""
    have = {(trial.block, trial.number) for trial in main.read().trials}
    for number in range(one.number + 1):
        place = replace(one, number=number).place
        for log in sorted(place.glob(f"*/{EVENTS}")):
            for trial in read_log(log).trials:
                if (trial.block, trial.number) not in have:
                    main.append_trial(trial)


def _course(
    request: TuneRequest, one: Round, place: TrialPlace, main: TuneLog, host: Host, narrator: Narrator
) -> Course:
    """Where the tune stands: all that was measured anywhere, and what is particular to the first round."""
    log = main.read()
    observed = _with_known_networks(place.observed, main, host, narrator)
    course = Course(request.argv, observed, request.objective, request.checked_output, log.trials)
    if one.number == 0:  # in the job that looks at the command, before there is an array
        left = Budget(request.budget_s - spent_s(main))
        learn_collectives(request, course, main, place.trials, left, host, narrator)
    else:
        course.observed = with_learned(observed, main.path, host)
    return course


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


def _plan(request: TuneRequest, one: Round, course: Course, main: TuneLog) -> tuple[tuple[Planned, ...], ...]:
    """The blocks of the next round; none when nothing more is asked for."""
    assert request.spread is not None
    made = [t for t in course.earlier if t.phase is not Phase.SEARCH or not t.block.startswith(_LEARNING)]
    run_s = median(trial.wall_s for trial in course.observed.originals)
    left_s = max(0.0, request.budget_s - spent_s(main))
    left_runs = None if request.max_runs is None else max(0, request.max_runs - len(course.earlier))
    chosen = _chosen(main)
    searches = chosen is None and one.number < _SEARCH_ROUNDS
    fit = Budget(left_s, left_runs).runs_that_fit(max(run_s, 1e-3))
    share = ceil(_SEARCH_SHARE * fit / (_SEARCH_ROUNDS - one.number)) if searches else fit
    each = _room(request.spread, run_s, len(course.observed.originals))
    fewest = min(each, _FEWEST_RUNS)
    jobs = request.spread.jobs
    ahead = Ahead(made, jobs * min(each, max(fewest, ceil(share / jobs))), request.seed)
    course.known = ahead.known
    budget = Budget(left_s, left_runs if one.number < _MOST_ROUNDS else 0, clock=ahead.clock)
    try:
        if chosen is None:
            narrator = _Findings(one)
            for_search = budget if searches else Budget(left_s, 0, clock=ahead.clock)
            chosen = find_candidates(request, course, ahead, for_search, narrator, run_s)
            if not ahead.asked:
                main.append("candidates", {"configurations": [each.as_dict() for each in chosen]})
        else:
            _look_again(request, course)
        if not ahead.asked:
            prove_best(request, course, chosen, ahead, budget, Silence())
    except RoundIsFull:
        pass
    return deal(ahead.asked, jobs, fewest) if ahead.asked else ()


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


def _look_again(request: TuneRequest, course: Course) -> None:
    """What the page of the result says of knobs and findings."""
    situation = course.observed.situation
    course.findings = findings_of(situation)
    course.space = space_of(
        situation, request.only, request.without, site=request.site, advised=request.advised
    )


class _Findings(Silence):
    """Tells whoever follows what was noticed, once."""

    def __init__(self, one: Round) -> None:
        self._one = one

    def found(self, finding: Finding) -> None:
        """A line of its own."""
        if self._one.number == 0:
            self._one.tell(f"! {finding.says} ({finding.evidence})")

    def phase(self, title: str) -> None:
        """A line of its own."""
        if self._one.number == 0:
            self._one.tell(title)
