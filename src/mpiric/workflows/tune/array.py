"""A tune in rounds: each element of a job array makes a block of runs, and the last one plans the next round.

A block begins with a few runs of the unchanged command, so that every element can render, judge and level its
own runs on any node. The trials of all blocks are copied into the log of the tune. Search and proof are then
replayed with these trials, and further runs that they request are the next round.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from mpiric.host.files import is_directory
from mpiric.host.host import Host
from mpiric.host.processes.execution import Runner
from mpiric.host.secrets import masked
from mpiric.lab.directory_runs import RECORDS, read_recorded
from mpiric.lab.lab import drive
from mpiric.model.errors import MpiricError
from mpiric.model.narrator import Narrator
from mpiric.model.quoting import sh_command
from mpiric.model.run import Plan, Run
from mpiric.model.situation import Situation
from mpiric.model.tuned import Tuned
from mpiric.schedulers import installed_batch_scheduler
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
from mpiric.workflows.tune.answer_effects import observe_answer
from mpiric.workflows.tune.collectives import learn_collectives, with_learned
from mpiric.workflows.tune.plan_round import budget_left, plan_round, spent_s
from mpiric.workflows.tune.space import find_rank_orders, with_planned_orders
from mpiric.workflows.tune.start import observe_command, open_tune, parse_request
from mpiric.workflows.tune.state import TuneRequest, TuneState
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
