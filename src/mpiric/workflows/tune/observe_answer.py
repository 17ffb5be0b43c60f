"""The answer run once recorded, as the command was: whether what was noticed has gone."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from mpiric import knobs
from mpiric.host.host import Host
from mpiric.host.processes.early_end import after
from mpiric.lab.recording import RECORDS, Recorded
from mpiric.model.errors import MpiricError
from mpiric.model.evidence import Verdict
from mpiric.model.run import Plan
from mpiric.model.trial import Split
from mpiric.model.tuned import RunTimes, SymptomChange, Tuned
from mpiric.profile.efficiency import run_times
from mpiric.profile.symptoms import symptom_changes
from mpiric.workflows.trials.recorded_runs import recorded_by, recorded_run, recorder_for
from mpiric.workflows.tune.answer_files import other_layouts
from mpiric.workflows.tune.state import TuneState

_PATIENCE, _SLACK_S = 4.0, 10.0  # a recorded run may take so many times as long as an original


def observe_answer(state: TuneState, host: Host) -> Plan[None]:
    """Record the answer where it is proved faster and the command was recorded; a note where that fails."""
    proved = [each for each in state.evidence if each.verdict is Verdict.FASTER]
    if not proved or not state.recorded:
        return
    if not state.budget.fits(state.quickest_s if isfinite(state.quickest_s) else 0.0):
        state.note("what the answer has changed is not shown: nothing of the budget was left to record it")
        return
    answer = max(proved, key=lambda each: each.low).configuration
    directory = state.log.path / RECORDS / f"answer-{state.lab.count + 1}"
    limit_s = _PATIENCE * max(trial.wall_s for trial in state.originals) + _SLACK_S
    try:
        recorder = recorder_for(state.situation, host)
        early_end = after(state.situation.observation.wall_s) if state.marks else None
        trial = yield recorded_run(answer, recorder, directory, limit_s, early_end)
        state.budget.spend()
        state.answered = recorded_by(trial, state.lab, directory)
        for sentence in other_layouts(answer, state.answered, host):
            state.note(sentence)
    except (MpiricError, OSError) as error:
        why = error.message if isinstance(error, MpiricError) else str(error.strerror)
        state.note(f"the answer was not recorded, so that what it has changed is not shown: {why}")


def afterwards_of(knob: str, state: TuneState) -> tuple[SymptomChange, ...]:
    """What a knob is meant to move, before and after; empty where one of the two was not recorded."""
    if state.answered is None:
        return ()
    before, after = (each.profile.numbers for each in (state.recorded[-1], state.answered))
    return symptom_changes(knobs.all_knobs()[knob].symptoms, before, after)


def with_afterwards(tuned: Tuned, state: TuneState) -> Tuned:
    """The result with what its settings have moved, and with the time of both recorded runs."""
    if state.answered is None:
        return tuned
    changes = [replace(each, afterwards=afterwards_of(each.knob, state)) for each in tuned.changes]
    splits: Sequence[Split | None] = (
        (tuned.split.original, tuned.split.tuned) if tuned.split else (None, None)
    )
    before, after = (
        _times(recorded, split)
        for recorded, split in zip((state.recorded[-1], state.answered), splits, strict=True)
    )
    return replace(tuned, changes=tuple(changes), times=(before, after))


def _times(recorded: Recorded, split: Split | None) -> RunTimes:
    end_s = split.end_s if split is not None else None
    return run_times(recorded.record, recorded.profile, recorded.run_s, end_s)
