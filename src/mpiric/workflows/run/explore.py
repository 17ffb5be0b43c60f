"""`mpiric run --explore`: compare production jobs with the recipe and without it."""

import secrets
from math import inf
from pathlib import Path

from mpiric import knobs
from mpiric.host.command_log import masked
from mpiric.host.host import Host
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, after_run
from mpiric.model.evidence import Verdict, WholeCheck, WholeVerdict
from mpiric.model.knob import ResultsEffect
from mpiric.model.pace import MarkPair
from mpiric.model.run import Outcome
from mpiric.schedulers import batch_scheduler_here
from mpiric.tuning.exploration import (
    UNPAIRED,
    Explored,
    ExploredJob,
    JobEnd,
    Ledger,
    Side,
    assign,
    begun_fields,
    end_fields,
    explored,
    read_ledger,
)
from mpiric.tuning.mark_split import pace_of
from mpiric.tuning.store import TuneLog
from mpiric.workflows.run.explore_series import (
    beginning_job,
    digest_of_inputs,
    open_ledger,
    series_directory,
    settle,
)
from mpiric.workflows.run.run import AppliedRecipe, PreparedRun
from mpiric.workflows.run.watched import (
    Say,
    WatchedRun,
    first_whole_run,
    note_whole_run,
    probe_of,
    run_watched,
    write_down,
)

_MARGIN = 1.25  # required time left, in units of the longest run so far


def not_explored_because(prepared: PreparedRun) -> str:
    """Return the reason why jobs with this recipe cannot be compared, "" if they can."""
    applied = prepared.applied
    if applied is None:
        return "no recipe is applied, or other settings are applied, too"
    recipe = applied.recipe
    if recipe.marks is None or recipe.evidence is None or recipe.evidence.verdict is not Verdict.FASTER:
        return "the recipe was not proved with step markers"
    if recipe.marks.pair.key.is_printed:
        return "the step marker is a line of output, which is not timed in production jobs"
    if recipe.checked_output == "none":
        return "the results of its trials were not compared with the original results"
    effects = {name: knobs.knob_named(name).results for name, _ in recipe.configuration.items}
    inexact = [name for name, effect in effects.items() if effect is not ResultsEffect.NONE]
    if inexact:
        return f"{', '.join(inexact)} may change the last digits of results"
    return ""


def explore(prepared: PreparedRun, store: Path | None, host: Host, say: Say) -> int | None:
    """Run the next job of the series and return its exit status, None if the job is not explored.

    ``say`` gets the reason why a job is not explored.
    """
    applied = prepared.applied
    why = not_explored_because(prepared)
    probe = probe_of(applied.recipe, applied.situation, host) if applied and not why else None
    if applied is None or probe is None:
        say(f"not explored: {why or 'the runtime cannot be loaded into the ranks'}")
        return None
    directory = series_directory(store, applied.fingerprint, applied.recipe)
    try:
        turn = _take_turn(directory, applied, host, say)
    except (MpiricError, OSError) as error:
        say(f"not explored: {error.message if isinstance(error, MpiricError) else error}")
        return None
    if turn is None:
        return None
    side, job = turn
    configuration = prepared.configuration if side is Side.RECIPE else Configuration()
    marks = Path(job.directory) if job else directory / secrets.token_hex(6)
    watched = run_watched(configuration, prepared, probe if job else None, marks, host)
    with after_run(watched.trial.exit_status):
        if side is Side.RECIPE and prepared.is_first_whole:
            note_whole_run(applied, watched, say)
        if job is not None:
            _enter_end(job, directory, applied, watched, say)
    return watched.trial.exit_status


def _take_turn(
    directory: Path, applied: AppliedRecipe, host: Host, say: Say
) -> tuple[Side, ExploredJob | None] | None:
    """Enter this job into the ledger; return its side, and the job unless the exploration has ended.

    None if it has ended and the recipe applies.
    """
    recipe = applied.recipe
    assert recipe.marks is not None
    inputs = digest_of_inputs(applied.situation.job, recipe.marks.inputs)
    meta = {
        "recipe": str(applied.path.absolute()),
        "command": list(masked(applied.situation.job.argv)),
        "mark": recipe.marks.pair.option,
        "on_rank_0_alone": recipe.marks.pair.on_rank_0_alone,
        "configuration": recipe.configuration.as_dict(),
    }
    with open_ledger(directory, **meta) as log:
        settle(log, host)
        ledger, now = _judged(log, recipe.marks.pair)
        if ledger.damaged_lines:
            lines = "a line" if ledger.damaged_lines == 1 else f"{ledger.damaged_lines} lines"
            say(f"the ledger {directory} is damaged: {lines} ignored")
        if now.ended_because:
            say(f"the exploration has ended: {now.ended_because}")
            if not now.is_failing and now.verdict is not Verdict.SLOWER:
                return None
            say("running the command without the recipe")
            return Side.ORIGINAL, None
        limit = near_its_limit(ledger, applied, host)
        if limit:
            say(f"not explored: {limit}; running with the recipe")
        coin = Side.RECIPE if secrets.randbits(1) else Side.ORIGINAL
        block, side, note = (UNPAIRED, Side.RECIPE, "") if limit else assign(ledger.jobs, inputs, coin)
        if note:
            say(note)
        job = beginning_job(block, side, inputs, directory, host)
        log.append("began", begun_fields(job))
    if block != UNPAIRED:
        how = "with the recipe" if side is Side.RECIPE else "without the recipe"
        say(f"exploring: this job (block {block}) runs {how}")
    return side, job


def _enter_end(
    job: ExploredJob, directory: Path, applied: AppliedRecipe, watched: WatchedRun, say: Say
) -> None:
    marks = applied.recipe.marks
    assert marks is not None
    pace = pace_of(watched.trial.marks, marks.pair)
    nan = "" if marks.prints_nan else watched.nan
    end = JobEnd(
        watched.trial.exit_status,
        watched.trial.outcome is Outcome.INTERRUPTED,
        nan,
        watched.trial.wall_s,
        pace,
        watched.cause,
    )
    if watched.cause:
        say(f"the job failed: {watched.cause}")
    if watched.trial.marks is None:
        say("the ranks recorded no step markers: the result of this job is unknown")
    with open_ledger(directory) as log:
        log.append("ended", end_fields(job.job, end))
        _, now = _judged(log, marks.pair)
    if now.ended_because:
        say(f"the exploration has ended: {now.ended_because}")
    if now.is_failing:
        write_down(applied.path, WholeCheck(WholeVerdict.DIFFERS, now.ended_because), say)


def _judged(log: TuneLog, pair: MarkPair) -> tuple[Ledger, Explored]:
    """Judge the blocks so far; record the end of the exploration, which late results do not change."""
    ledger = read_ledger(log.read())
    now = explored(ledger.jobs, pair, over=ledger.over)
    if now.ended_because and ledger.over is None:
        log.append("over", {"verdict": now.verdict.value, "why": now.ended_because})
    return ledger, now


def near_its_limit(ledger: Ledger, applied: AppliedRecipe, host: Host) -> str:
    """Return the reason why a run without the recipe may exceed the time limit of this job, "" if it fits.

    Before the first whole run, the time of a run is unknown, so that the recipe is applied.
    """
    left_s = time_left_s(host)
    if left_s == inf:
        return ""
    if left_s is None:
        return "the scheduler does not report the time left"
    needed_s = original_s(ledger, applied)
    if needed_s is None:
        return "the time of a whole run is unknown, and this job has a time limit"
    if needed_s * _MARGIN > left_s:
        return f"a run without the recipe takes about {needed_s:.0f} s, and the job ends in {left_s:.0f} s"
    return ""


def original_s(ledger: Ledger, applied: AppliedRecipe) -> float | None:
    """Return the longest expected time of a run without the recipe; None before the first job."""
    evidence = applied.recipe.evidence
    times = evidence.high if evidence and evidence.high < inf else (evidence.ratio if evidence else 1.0)
    walls_s = [
        job.end.wall_s * (times if job.side is Side.RECIPE else 1.0)
        for job in ledger.jobs
        if job.end is not None and job.end.status == 0
    ]
    return max(walls_s, default=None)


def time_left_s(host: Host) -> float | None:
    """Return the seconds until the scheduler ends this job: infinite outside of a job, None if unknown."""
    scheduler = batch_scheduler_here(host)
    own_job = scheduler.own_job(host.environ) if scheduler else ""
    return scheduler.time_left_s(host, own_job) if scheduler and own_job else inf


def run_observed(
    prepared: PreparedRun, store: Path | None, host: Host, say: Say, *, explores: bool
) -> int | None:
    """Run an explored job or a first whole run, and return its exit status; None if the run was not made."""
    status = explore(prepared, store, host, say) if explores else None
    if status is None and prepared.is_first_whole:
        status = first_whole_run(prepared, store, host, say)
    return status
