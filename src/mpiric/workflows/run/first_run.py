"""Check the first whole run with a recipe whose trials ended at a step marker."""

import secrets
from collections.abc import Callable
from pathlib import Path

from mpiric.host.host import Host
from mpiric.model.errors import MpiricError, after_run
from mpiric.model.trial import Outcome
from mpiric.model.whole_check import WholeCheck, WholeVerdict
from mpiric.tuning.explore.evidence import has_failed
from mpiric.tuning.explore.ledger import JobEnd
from mpiric.tuning.marks.later_pace import against_forecast, pace_of
from mpiric.tuning.recipe import read_recipe, write_whole_check
from mpiric.tuning.store.store import default_store
from mpiric.workflows.run.recipe_choice import check_value
from mpiric.workflows.run.run import AppliedRecipe, PreparedRun
from mpiric.workflows.run.watched import WatchedRun, probe_of, run_watched

Say = Callable[[str], None]
_DIRECTORY = "whole-runs"  # subdirectory of the store


def first_whole_run(prepared: PreparedRun, store: Path | None, host: Host, say: Say) -> int:
    """Run the program, record the result in the recipe, and return the exit status."""
    applied = prepared.applied
    assert applied is not None
    say("first whole run with this recipe: checking exit status, NaN in the output and time of later steps")
    directory = (store or default_store()).absolute() / _DIRECTORY / secrets.token_hex(6)
    probe = probe_of(applied.recipe, applied.situation, host)
    watched = run_watched(prepared.configuration, applied, prepared.environment, probe, directory, host)
    with after_run(watched.trial.exit_status):
        note_whole_run(applied, watched, say)
    return watched.trial.exit_status


def note_whole_run(applied: AppliedRecipe, watched: WatchedRun, say: Say) -> None:
    """Record the result of a whole run in the recipe, unless a better check is recorded."""
    check = whole_check_of(applied, watched)
    if check is None:
        say("this run does not check the recipe: it was ended from outside, or did not begin")
        return
    say(f"the recipe's first whole run {check.verdict.value}{f': {check.why}' if check.why else ''}")
    if check.verdict is WholeVerdict.DIFFERS:
        say("the recipe is not applied again; `mpiric tune --finish -- CMD` compares it with an original run")
    write_down(applied.path, check, say)


def write_down(path: Path, check: WholeCheck, say: Say) -> None:
    """Record a check in the file of a recipe. A difference that was found once stays recorded."""
    try:
        now = read_recipe(path, check_value).whole
        verdict, differs = now.verdict if now else None, check.verdict is WholeVerdict.DIFFERS
        if verdict is WholeVerdict.DIFFERS or (verdict is WholeVerdict.AGREES and not differs):
            return
        write_whole_check(path, check)
    except MpiricError as error:
        say(f"the result could not be recorded in the recipe: {error.message}")


def whole_check_of(applied: AppliedRecipe, watched: WatchedRun) -> WholeCheck | None:
    """Return the result of a run without a reference, None if the run was ended from outside."""
    end = JobEnd(watched.trial.exit_status, watched.trial.outcome is Outcome.INTERRUPTED)
    if end.status and (not has_failed(end) or (watched.carried_marks and watched.trial.marks is None)):
        return None
    if end.status:
        return WholeCheck(WholeVerdict.DIFFERS, f"it ended with status {end.status}")
    marks = applied.recipe.marks
    if watched.nan and not (marks and marks.prints_nan):
        return WholeCheck(WholeVerdict.DIFFERS, f"it printed a NaN: {watched.nan}")
    if marks is None:
        return WholeCheck(WholeVerdict.NO_REFERENCE)
    later = against_forecast(pace_of(watched.trial.marks, marks.pair), marks.pair, marks.per_mark_s[1])
    return WholeCheck(WholeVerdict.NO_REFERENCE, later)
