"""A tune's first runs: its log opened, the command run as it is."""

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from mpiric import mpis
from mpiric.host.host import Host
from mpiric.host.isolation.working_copies import WorkingCopies
from mpiric.host.processes.execution import Runner
from mpiric.lab.disputes import remove_rejected, withdraw_rejections
from mpiric.lab.failures import failure_cause_of
from mpiric.lab.judge import OUTPUTS, Judge
from mpiric.lab.lab import Lab
from mpiric.lab.recording import RECORDS, keep_small
from mpiric.model.job import Job
from mpiric.model.narrator import Narrator
from mpiric.tuning.budget import Budget
from mpiric.tuning.store.events import TuneEvents
from mpiric.tuning.store.store import Store, TuneLog
from mpiric.workflows.launch.fingerprints import job_identity, program_name
from mpiric.workflows.launch.node_leftovers import cleaned_nodes
from mpiric.workflows.launch.parse_job import ParsedJob
from mpiric.workflows.trials.kept_marks import keep_marks, keep_objectives
from mpiric.workflows.trials.learn_marks import WHOLE_RUNS
from mpiric.workflows.trials.observe import Observing, observe
from mpiric.workflows.trials.seeing_mounts import copy_policy, inputs_seen
from mpiric.workflows.trials.try_layouts import layout_refusal
from mpiric.workflows.tune.arm import arm
from mpiric.workflows.tune.mark_course import never_stopped, why_whole, wishes_of, wishes_of_round
from mpiric.workflows.tune.request import TuneRequest
from mpiric.workflows.tune.state import TuneState


def open_log(request: TuneRequest, job: Job) -> TuneLog:
    """The log of the tune that is asked for: a new one, or that of the tune to go on with."""
    if request.into is not None:
        return Store().resume(request.into)
    store, identity = Store(request.store), job_identity(job)
    if request.resume:
        return store.resume(store.latest(identity).path)
    return store.create(
        program_name(job),
        identity,
        job.argv,
        objective=request.objective.text,
        options=list(request.options),
    )


@contextmanager
def observed_tune(
    request: TuneRequest,
    parsed: ParsedJob,
    log: TuneLog,
    host: Host,
    narrator: Narrator,
    runner: Runner,
    block: str = "",
    *,
    known: TuneEvents | None = None,
) -> Iterator[TuneState]:
    """Run the command as it is, and be ready to run it otherwise; trials are of ``block``.

    What another job has found out about the command is ``known``: it is not recorded again.
    """
    spent_s = 0.0 if request.begun_s is None else max(0.0, time.monotonic() - request.begun_s)
    budget = Budget(request.budget_s, request.max_runs, runner.clock, spent_s=spent_s)
    if request.ignore_lines:
        withdraw_rejections(log)
    earlier = log.read().trials
    whole = why_whole(request)
    wishes = (
        None
        if whole
        else wishes_of(request, log.read())
        if known is None
        else wishes_of_round(request, known)
    )
    policy = copy_policy(parsed, host, runner, in_place=request.in_place)
    with (
        runner,
        WorkingCopies(Path(request.working_directory), log.path, policy) as copies,
        ExitStack() as stack,
    ):
        copies.depend_on(inputs_seen(parsed.job))
        ignored = re.compile(request.ignore_lines) if request.ignore_lines else None
        judge = Judge(request.objective, request.check_command, request.allowed.rounding, ignored)
        lab = Lab(runner, copies, log, judge, failure_cause_of(host), block)
        lab.after_ended_run = stack.enter_context(cleaned_nodes(parsed.job, parsed.nodes, host))
        narrator.phase("As it is")
        how = Observing(
            request.allowed,
            compare=request.compare_output,
            records=log.path / RECORDS if known is None else None,
            wishes=wishes,
            budget=None if never_stopped(request) else budget,
        )
        observed = observe(lab, parsed, host, narrator, how)
        copies.depend_on(inputs_seen(parsed.job, observed.recorded))
        try_layout = cache(partial(layout_refusal, observed.situation, host, in_place=request.in_place))
        defaults = cache(partial(mpis.defaults_of, host, observed.situation.mpi))
        lab.situation = replace(observed.situation, try_layout=try_layout, read_library_defaults=defaults)
        lab.judge.until_safe = request.objective.text == "io"
        armed = () if observed.notes or observed.marks else arm(request, lab, host, narrator)
        originals = (*observed.originals, *armed)
        if observed.marks:
            keep_marks(
                log,
                observed.marks.pair,
                observed.marks.window,
                observed.marks.why,
                observed.marks.whole_marks,
            )
            keep_objectives(log, observed.originals)
        budget.spend(lab.count - len(earlier) if observed.marks else len(originals))
        yield TuneState(
            request,
            log,
            lab,
            copies,
            budget,
            narrator,
            originals,
            run_s=observed.situation.observation.wall_s,
            earlier=earlier,
            recorded=observed.recorded,
            notes=[*observed.notes],
            marks=observed.marks,
            marks_why=whole or observed.marks_why or f"{WHOLE_RUNS} whole runs fit into the budget",
        )
        keep_small(log.path / RECORDS)
        remove_rejected(log.path / OUTPUTS)
