"""Run a program in the foreground, and observe exit status, NaN in the output and step markers."""

import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mpiric.host.host import Host
from mpiric.host.processes.output_tap import OutputTap
from mpiric.lab.foreground import Foreground
from mpiric.lab.judge import written_by_originals
from mpiric.lab.probes import BetweenMarkers
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.recipe import Recipe
from mpiric.model.run import Run
from mpiric.model.situation import Situation
from mpiric.model.trial import Phase, Trial
from mpiric.tuning.equivalence.not_a_number import NanWatch, first_nan_of
from mpiric.tuning.marks.later_pace import UNREACHED
from mpiric.tuning.store.store import make_directory
from mpiric.workflows.launch.node_leftovers import cleaned_nodes
from mpiric.workflows.run.run import AppliedRecipe
from mpiric.workflows.trials.recorded_runs import runtime_with_marks


@dataclass(frozen=True)
class WatchedRun:
    """Observations of one run."""

    trial: Trial
    nan: str = ""  # first line with a NaN
    carried_marks: bool = False  # whether the runtime was loaded into its ranks


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
    applied: AppliedRecipe,
    environment: Mapping[str, str],
    probe: BetweenMarkers | None,
    directory: Path,
    host: Host,
) -> WatchedRun:
    """Run the program to its end in the foreground.

    The ranks write step markers to ``directory``, which is removed afterwards; without it, no step markers
    are recorded. The output and the files that trials wrote are searched for NaN.
    """
    situation, written = applied.situation, written_by_originals(applied.path.parent)
    if probe is not None:
        try:
            make_directory(directory)
            probe = replace(probe, directory=directory)
        except OSError:
            probe = None
    watch = NanWatch()
    begun_s = time.time()
    try:
        with cleaned_nodes(situation.job, situation.nodes, host) as after_ended_run:
            lab = Foreground(
                lambda chosen, carried: render(chosen, situation, carried),
                environment,
                output_tap=OutputTap(watch.feed, through_launcher=bool(situation.job.launcher_words)),
                after_ended_run=after_ended_run,
            )
            trial = lab.measure(Run(configuration, Phase.FINISH, probe=probe))
        nan = watch.end() or first_nan_of(Path(situation.job.working_directory), written, begun_s)
        return WatchedRun(trial, nan, carried_marks=probe is not None)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
