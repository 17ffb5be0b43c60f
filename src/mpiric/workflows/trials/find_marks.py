"""Step markers of a program that is too long for complete runs.

A first run shows a call or output line that counts the program's steps (see `learn_marks`). Then runs of the
original end at the chosen marker. It is valid if all of them have done the same work.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from mpiric.host.host import Host
from mpiric.lab.lab import Lab
from mpiric.lab.mark_judge import crossings, disagreement, repeatable_hint
from mpiric.lab.probes import between
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.pace import KeyPace
from mpiric.model.run import TO_MARKER, Narrator, Outcome, Phase, Plan, Run, Trial
from mpiric.statistics.step_window import MarkWindow, choose_window
from mpiric.tuning.objective import Budget
from mpiric.workflows.launch.fingerprints import program_name
from mpiric.workflows.trials.recorded_runs import runtime_with_marks
from mpiric.workflows.trials.step_markers import MarkOptions, NoMarksError, StepMarkers, learn_marks

_ORIGINALS, _FEWEST = 3, 2  # runs to the mark: usual number, and the least if they are slow
_SHARE = 0.5  # share of the budget for runs of the original


def find_marks(
    lab: Lab,
    host: Host,
    narrator: Narrator,
    records: Path | None,
    options: MarkOptions,
    budget: Budget | None = None,
) -> Plan[StepMarkers]:
    """Find the step markers of a program, and end the lab's runs there from now on. Raises NoMarksError.

    Unless the markers are fixed, they are searched in a run that is recorded into ``records``. Optional runs
    leave half of the ``budget`` to other configurations.
    """

    def has_room(run_s: float) -> bool:
        seconds = None if budget is None else budget.seconds
        return seconds is None or budget is None or budget.elapsed_s + run_s <= _SHARE * seconds

    narrator.say("looking for a call or an output line that counts its steps")
    if options.fixed is not None:
        markers = options.fixed
    else:
        assert records is not None
        markers = yield from learn_marks(lab, host, records, options)
    pair, window = markers.pair, markers.window
    try:
        library = "" if pair.key.is_printed else runtime_with_marks(lab.situation, host)
    except MpiricError as error:
        raise NoMarksError(error.message) from error
    chosen = options.fixed is not None or (options.named is not None and options.named.numbers is not None)
    for _ in range(2):
        lab.probes = {Phase.OBSERVE: between(pair, library, ends=True)}
        originals = yield from _originals(window, has_room)
        marks_of_runs = [trial.marks for trial in originals if trial.marks is not None]
        if different := disagreement([crossings(marks, pair) for marks in marks_of_runs]):
            hint = repeatable_hint(program_name(lab.situation.job))
            more = f" ({hint})" if hint else ""
            raise NoMarksError(f"the steps differ from run to run: {different}{more}")
        judged = choose_window(
            [
                KeyPace(pair.key, first.calls, first.stride, first.times_s)
                for first in (marks.ranks[0] for marks in marks_of_runs)
            ],
            options.budget_s,
            options.after_s,
        )
        if chosen or judged is None or judged.first <= pair.first + (pair.last - pair.first) // 10:
            break
        if not has_room(_FEWEST * originals[-1].wall_s):
            break
        # All runs together show a transient that the first alone did not.
        length = pair.last - pair.first
        pair = replace(pair, first=judged.first, last=judged.first + length)
        window = replace(window, first=pair.first, last=pair.last)
    compared = (Phase.OBSERVE, Phase.SEARCH, Phase.PROOF, Phase.HISTORY)
    lab.probes = dict.fromkeys(compared, between(pair, library, ends=True))
    return replace(markers, pair=pair, window=window, originals=tuple(originals))


def _originals(window: MarkWindow, has_room: Callable[[float], bool]) -> Plan[list[Trial]]:
    """Run the original to the marker a few times. Raises NoMarksError if a run does not end there."""
    originals: list[Trial] = []
    for _ in range(_ORIGINALS):
        limit_s = TO_MARKER.after(window.last_s)
        trial = yield Run(Configuration(), Phase.OBSERVE, limit_s=limit_s, observe=True)
        if trial.outcome is not Outcome.OK:
            raise NoMarksError(f"a run that was to end at the mark {trial.reason or 'failed'}")
        if why_not := _not_there(trial):
            raise NoMarksError(why_not)
        originals.append(trial)
        if len(originals) >= _FEWEST and not has_room(trial.wall_s):
            break
    return originals


_FLAGS = {
    "sessions": "it uses MPI sessions, which have no MPI_COMM_WORLD",
    "spawned": "its ranks are spawned by another program",
    "not_ended": "the runtime could not create a communicator",
    "not_understood": "the runtime cannot count such calls",
}


def _not_there(trial: Trial) -> str:
    """Return the reason why a run of the original cannot be compared with others, "" if it can."""
    marks, split = trial.marks, trial.split
    if marks is None:
        return "its ranks recorded no step markers"
    if marks.runs > 1:
        return f"the command starts {marks.runs} MPI programs, and marks belong to one program"
    flags = {flag for rank in marks.ranks for flag in rank.flags}
    if why := next((why for flag, why in _FLAGS.items() if flag in flags), ""):
        return f"runs cannot end at a step marker: {why}"
    if marks.missing:
        return f"{len(marks.missing)} of its ranks recorded no step markers"
    absent = [rank.rank for rank in marks.ranks if rank.last is None]
    if len(absent) == len(marks.ranks):
        return f"a run ended before the step marker, after {marks.ranks[0].calls} of such calls on rank 0"
    if absent and not trial.came_early:
        return f"rank {absent[0]} did not reach the step marker, while others did"
    return "" if split is not None and split.per_mark_s is not None else "a run did not reach the step marker"
