"""`mpiric run --explore`: jobs that are run anyway become the pairs of a proof."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mpiric import knobs
from mpiric.host.host import Host
from mpiric.host.secrets import masked
from mpiric.lab.probes import BetweenMarkers
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, after_run
from mpiric.model.evidence import Verdict
from mpiric.model.knob import ResultsEffect
from mpiric.model.marks import MarkPair
from mpiric.model.trial import Outcome
from mpiric.model.whole_check import WholeCheck, WholeVerdict
from mpiric.tuning.explore.evidence import Assignment, Explored, assign, explored
from mpiric.tuning.explore.ledger import (
    UNPAIRED,
    ExploredJob,
    JobEnd,
    Ledger,
    Side,
    begun_fields,
    end_fields,
    read_ledger,
)
from mpiric.tuning.marks.later_pace import pace_of
from mpiric.tuning.store.store import TuneLog
from mpiric.workflows.run.explore_series import (
    beginning_job,
    digest_of_inputs,
    open_ledger,
    series_directory,
    settle,
)
from mpiric.workflows.run.first_run import is_first_whole_run, note_whole_run, write_down
from mpiric.workflows.run.run import AppliedRecipe, PreparedRun
from mpiric.workflows.run.time_left import near_its_limit
from mpiric.workflows.run.watched import WatchedRun, probe_of, run_watched

Say = Callable[[str], None]


def not_explored_because(prepared: PreparedRun) -> str:
    """Why jobs with this recipe are no evidence, "" when they are."""
    applied = prepared.applied
    if applied is None:
        return "no recipe is applied by itself"
    recipe = applied.recipe
    if recipe.marks is None or recipe.evidence is None or recipe.evidence.verdict is not Verdict.FASTER:
        return "its recipe was not proved at marks"
    if recipe.marks.pair.key.is_printed:
        return "its steps are counted by lines of output, which are not timed in production jobs"
    if recipe.checked_output == "none":
        return "the answers of its trials were not compared with the original's"
    effects = {name: knobs.all_knobs()[name].results for name, _ in recipe.configuration.items}
    inexact = [name for name, effect in effects.items() if effect is not ResultsEffect.NONE]
    if inexact:
        return f"{', '.join(inexact)} may change the last digits of results"
    return ""


def explore(prepared: PreparedRun, store: Path | None, host: Host, say: Say) -> int | None:
    """Run the next job of its series; the program's exit status, None where it is to run as ever.

    Says why it is no part of the exploration where it is not.
    """
    applied = prepared.applied
    why = not_explored_because(prepared)
    probe = probe_of(applied.recipe, applied.situation, host) if applied and not why else None
    if applied is None or probe is None:
        say(f"not explored: {why or 'the ranks cannot be given a runtime that knows marks'}")
        return None
    directory = series_directory(store, applied.fingerprint, applied.recipe)
    try:
        turn = _take_turn(directory, applied, host, say)
    except (MpiricError, OSError) as error:
        say(f"not explored: {error.message if isinstance(error, MpiricError) else error}")
        return None
    if turn is None:
        return None
    return _run(turn, directory, probe, prepared, host, say)


@dataclass(frozen=True)
class _Turn:
    """What this job runs; without a job it is no part of the ledger."""

    side: Side
    job: ExploredJob | None


def _take_turn(directory: Path, applied: AppliedRecipe, host: Host, say: Say) -> _Turn | None:
    """Enter this job into the ledger; None where the recipe is to be applied as ever."""
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
        settle(log, read_ledger(log.read()).jobs, host)
        ledger = read_ledger(log.read())
        if ledger.damaged_lines:
            lines = "a line" if ledger.damaged_lines == 1 else f"{ledger.damaged_lines} lines"
            say(f"{lines} of the ledger {directory} cannot be read, and what stood there does not count")
        now = state_of(ledger, recipe.marks.pair)
        if now.ended_because:
            _close(log, ledger, now)
            return _after_the_end(now, say)
        limit = near_its_limit(ledger, applied, host)
        if limit:
            say(f"not explored: {limit}; running with the recipe")
        coin = Side.RECIPE if secrets.randbits(1) else Side.ORIGINAL
        place = Assignment(UNPAIRED, Side.RECIPE) if limit else assign(ledger.jobs, inputs, coin)
        if place.note:
            say(place.note)
        job = beginning_job(place, inputs, directory, host)
        log.append("began", begun_fields(job))
    if place.block != UNPAIRED:
        what = "with the recipe" if place.side is Side.RECIPE else "as it is"
        say(f"exploring: this job, of block {place.block}, runs {what}")
    return _Turn(place.side, job)


def _after_the_end(now: Explored, say: Say) -> _Turn | None:
    say(f"exploring has ended: {now.ended_because}")
    if now.is_failing or now.verdict is Verdict.SLOWER:
        say("running the command as it is")
        return _Turn(Side.ORIGINAL, None)
    return None


def _run(
    turn: _Turn, directory: Path, probe: BetweenMarkers, prepared: PreparedRun, host: Host, say: Say
) -> int:
    applied = prepared.applied
    assert applied is not None
    configuration = prepared.configuration if turn.side is Side.RECIPE else Configuration()
    marks = Path(turn.job.directory) if turn.job else directory / secrets.token_hex(6)
    watched = run_watched(
        configuration, applied, prepared.environment, probe if turn.job else None, marks, host
    )
    with after_run(watched.trial.exit_status):
        if turn.side is Side.RECIPE and is_first_whole_run(prepared):
            note_whole_run(applied, watched, say)
        if turn.job is not None:
            _enter_end(turn.job, directory, applied, watched, say)
    return watched.trial.exit_status


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
    )
    if watched.trial.marks is None:
        say("its ranks left no marks: the job counts as one of which nothing is known")
    with open_ledger(directory) as log:
        log.append("ended", end_fields(job.job, end))
        ledger = read_ledger(log.read())
        now = state_of(ledger, marks.pair)
        _close(log, ledger, now)
    if now.ended_because:
        say(f"exploring has ended: {now.ended_because}")
    if now.is_failing:
        write_down(applied.path, WholeCheck(WholeVerdict.DIFFERS, now.ended_because), say)


def state_of(ledger: Ledger, pair: MarkPair) -> Explored:
    """What the blocks of a ledger prove so far."""
    return explored(ledger.jobs, pair, over=ledger.over)


def _close(log: TuneLog, ledger: Ledger, now: Explored) -> None:
    """Once exploring is over it stays so, whatever late ends still come in."""
    if now.ended_because and ledger.over is None:
        log.append("over", {"verdict": now.verdict.value, "why": now.ended_because})
