"""A run of the user's own, looked at: how it ends, whether it prints a NaN, when it comes to which marks."""

import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mpiric.host.host import Host
from mpiric.host.processes.foreground import Output, Ran, run_in_foreground
from mpiric.host.processes.overhearing import Overhearing
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.marks import RunMarks
from mpiric.model.recipe import Recipe
from mpiric.model.situation import Situation
from mpiric.profile.marks import read_marks
from mpiric.tuning.equivalence.not_a_number import NanWatch, first_nan_of
from mpiric.tuning.marks.later_pace import UNREACHED
from mpiric.tuning.store.store import make_directory
from mpiric.workflows.launch.node_leftovers import cleaned_nodes
from mpiric.workflows.launch.spelling import render
from mpiric.workflows.trials.arming import Arming, runtime_with_marks


@dataclass(frozen=True)
class WatchedRun:
    """What was seen of one run."""

    ran: Ran
    nan: str = ""  # the first line with a NaN
    marks: RunMarks | None = None
    carried_marks: bool = False  # whether its ranks were given the runtime


def arming_of(recipe: Recipe, situation: Situation, host: Host) -> Arming | None:
    """The marks of a recipe for a whole run, which never ends at them; None where they cannot be had."""
    if recipe.marks is None or recipe.marks.pair.key.is_printed:
        return None
    try:
        library = runtime_with_marks(situation, host)
    except MpiricError:
        return None
    return Arming(library, frozenset(), replace(recipe.marks.pair, last=UNREACHED))


def run_watched(
    configuration: Configuration,
    situation: Situation,
    environment: Mapping[str, str],
    arming: Arming | None,
    directory: Path,
    host: Host,
    written: Iterable[str] = (),
) -> WatchedRun:
    """Run it to its end in the foreground; its ranks write their marks into ``directory``, which then goes.

    A directory that cannot be made means a run without marks. A NaN is looked for in what it prints, and in
    files that it is known to write.
    """
    carried = None
    if arming is not None:
        try:
            make_directory(directory)
            carried = arming.spelling(directory)
        except OSError:
            carried = None
    launch = render(configuration, situation, carried)
    watch = NanWatch()
    overhearing = Overhearing(watch.hear, through_launcher=bool(situation.job.launcher_words))
    begun_s = time.time()
    try:
        with cleaned_nodes(situation.job, situation.nodes, host) as after_ended_run:
            ran = run_in_foreground(launch, environment, Output.STDOUT, overhearing=overhearing)
            if ran.status:
                after_ended_run()
        nan = watch.end() or first_nan_of(Path(launch.working_directory), written, begun_s)
        return WatchedRun(ran, nan, marks_in(directory), carried is not None)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def marks_in(directory: Path) -> RunMarks | None:
    """What ranks have left in a directory, None where that is nothing that can be read."""
    try:
        return read_marks(directory)
    except MpiricError:
        return None
