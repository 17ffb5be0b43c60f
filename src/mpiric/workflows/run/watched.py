"""Run a program in the foreground, and observe exit status, NaN in the output and step markers.

This checks the first whole run with a recipe whose trials ended at a step marker.
"""

import secrets
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from mpiric.host.host import Host
from mpiric.host.processes.output_tap import OutputTap
from mpiric.lab.endings import OutputTail, explain_ending
from mpiric.lab.foreground import Foreground
from mpiric.lab.judge import written_by_originals
from mpiric.lab.probes import BetweenMarkers
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, after_run
from mpiric.model.evidence import Recipe, WholeCheck, WholeVerdict
from mpiric.model.run import Outcome, Phase, Run, Trial
from mpiric.model.situation import Situation
from mpiric.outputs.digest import NanWatch, first_nan_of
from mpiric.tuning.exploration import JobEnd, has_failed
from mpiric.tuning.mark_split import UNREACHED, against_forecast, pace_of
from mpiric.tuning.recipe import read_recipe, write_whole_check
from mpiric.tuning.store import default_store, make_directory
from mpiric.workflows.launch.nodes import cleaned_nodes
from mpiric.workflows.run.recipe_choice import check_value
from mpiric.workflows.run.run import AppliedRecipe, PreparedRun
from mpiric.workflows.trials.recorded_runs import runtime_with_marks

Say = Callable[[str], None]
_DIRECTORY = "whole-runs"  # subdirectory of the store


@dataclass(frozen=True)
class WatchedRun:
    """Observations of one run."""

    trial: Trial
    nan: str = ""  # first line with a NaN
    carried_marks: bool = False  # whether the runtime was loaded into its ranks
    cause: str = ""  # known cause of a failure, with its remedy


def probe_of(recipe: Recipe, situation: Situation, host: Host) -> BetweenMarkers | None:
    """Return the probe for the step markers of a recipe in a whole run; None if they cannot be recorded."""
    if recipe.marks is None or recipe.marks.pair.key.is_printed:
        return None
    try:
        library = runtime_with_marks(situation, host)
    except MpiricError:
        return None
    return BetweenMarkers(replace(recipe.marks.pair, last=UNREACHED), library=library)


def run_watched(
    configuration: Configuration,
    prepared: PreparedRun,
    probe: BetweenMarkers | None,
    directory: Path,
    host: Host,
) -> WatchedRun:
    """Run the program to its end in the foreground.

    The ranks write step markers to ``directory``, which is removed afterwards; without it, no step markers
    are recorded. The output and the files that trials wrote are searched for NaN.
    """
    applied = prepared.applied
    assert applied is not None
    situation, written = applied.situation, written_by_originals(applied.path.parent)
    if probe is not None:
        try:
            make_directory(directory)
            probe = replace(probe, directory=directory)
        except OSError:
            probe = None
    watch, tail = NanWatch(), OutputTail(host)
    begun_s = time.time()
    try:
        with cleaned_nodes(situation.job, situation.nodes, host) as after_ended_run:
            is_relayed = bool(situation.job.launcher_words)

            def listen(piece: bytes) -> None:
                watch.feed(piece)
                tail.feed(piece)

            lab = Foreground(
                lambda chosen, carried: render(chosen, situation, carried),
                prepared.environment,
                output_tap=OutputTap(listen, through_launcher=is_relayed),
                error_tap=OutputTap(tail.feed, through_launcher=is_relayed, stream=sys.stderr),
                after_ended_run=after_ended_run,
            )
            trial = lab.measure(Run(configuration, Phase.FINISH, probe=probe))
        nan = watch.end() or first_nan_of(Path(situation.job.working_directory), written, begun_s)
        cause = ""
        if trial.outcome is Outcome.FAILED:
            ending = explain_ending(tail.failed_run(situation.job, trial.exit_status), host)
            cause = f"{ending.finding.says}; {ending.finding.fix}" if ending else ""
        return WatchedRun(trial, nan, carried_marks=probe is not None, cause=cause)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def first_whole_run(prepared: PreparedRun, store: Path | None, host: Host, say: Say) -> int:
    """Run the program, record the result in the recipe, and return the exit status."""
    applied = prepared.applied
    assert applied is not None
    say("first whole run with this recipe: checking exit status, NaN in the output and time of later steps")
    directory = (store or default_store()).absolute() / _DIRECTORY / secrets.token_hex(6)
    probe = probe_of(applied.recipe, applied.situation, host)
    watched = run_watched(prepared.configuration, prepared, probe, directory, host)
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
