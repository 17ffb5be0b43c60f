"""The first whole run with a recipe whose trials ended at a mark: what it says of the rest of the program."""

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
_DIRECTORY = "whole-runs"  # of the store


def is_first_whole_run(prepared: PreparedRun) -> bool:
    """Whether nothing is known yet of a whole run with the recipe that is applied."""
    applied = prepared.applied
    whole = applied.recipe.whole if applied else None
    return whole is not None and whole.verdict is WholeVerdict.NOT_RUN


def first_whole_run(prepared: PreparedRun, store: Path | None, host: Host, say: Say) -> int:
    """Run it, and note in the recipe what that shows; the program's own exit status."""
    applied = prepared.applied
    assert applied is not None
    say("its first whole run: exit status, NaN in the output and the pace of later steps are looked at")
    directory = (store or default_store()).absolute() / _DIRECTORY / secrets.token_hex(6)
    probe = probe_of(applied.recipe, applied.situation, host)
    watched = run_watched(prepared.configuration, applied, prepared.environment, probe, directory, host)
    with after_run(watched.trial.exit_status):
        note_whole_run(applied, watched, say)
    return watched.trial.exit_status


def note_whole_run(applied: AppliedRecipe, watched: WatchedRun, say: Say) -> None:
    """Write into the recipe what a whole run has shown, unless more is known of it already."""
    check = whole_check_of(applied, watched)
    if check is None:
        say("this run says nothing of the recipe: it was ended from outside, or did not begin")
        return
    say(f"the recipe's first whole run {check.verdict.value}{f': {check.why}' if check.why else ''}")
    if check.verdict is WholeVerdict.DIFFERS:
        say("the recipe is not applied again; `mpiric tune --finish -- CMD` compares with a whole original")
    write_down(applied.path, check, say)


def write_down(path: Path, check: WholeCheck, say: Say) -> None:
    """Note a check in a recipe's file. What differed once stays so."""
    try:
        now = read_recipe(path, check_value).whole
        known, differs = now.verdict if now else None, check.verdict is WholeVerdict.DIFFERS
        if known is WholeVerdict.DIFFERS or (known is WholeVerdict.AGREES and not differs):
            return
        write_whole_check(path, check)
    except MpiricError as error:
        say(f"that could not be noted in the recipe: {error.message}")


def whole_check_of(applied: AppliedRecipe, watched: WatchedRun) -> WholeCheck | None:
    """What a run that had nothing to be compared with shows; None for one that shows nothing."""
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
