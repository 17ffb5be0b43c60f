"""A recorded run of the answer, and its symptoms compared with the unchanged command."""

from dataclasses import replace
from math import isfinite

from mpiric import knobs
from mpiric.host.host import Host
from mpiric.host.processes.early_end import after
from mpiric.lab.recording import RECORDS
from mpiric.model.errors import MpiricError
from mpiric.model.evidence import Verdict
from mpiric.model.run import Plan
from mpiric.model.tuned import SymptomChange, Tuned
from mpiric.profile.efficiency import run_times
from mpiric.profile.symptoms import symptom_changes
from mpiric.workflows.trials.recorded_runs import recorded_by, recorded_run, recorder_for
from mpiric.workflows.tune.answer_files import other_layouts
from mpiric.workflows.tune.state import TuneState

_PATIENCE, _SLACK_S = 4.0, 10.0  # time limit of a recorded run: factor of an original, plus slack


def observe_answer(state: TuneState, host: Host) -> Plan[None]:
    """Record a run of the answer if it is proved faster and the command was recorded; else leave a note."""
    proved = [evidence for evidence in state.evidence if evidence.verdict is Verdict.FASTER]
    if not proved or not state.recorded:
        return
    if not state.budget.fits(state.quickest_s if isfinite(state.quickest_s) else 0.0):
        state.note("the effects of the answer are not shown: no budget was left to record a run of it")
        return
    answer = max(proved, key=lambda evidence: evidence.low).configuration
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
        state.note(f"the effects of the answer are not shown, as it was not recorded: {why}")


def afterwards_of(knob: str, state: TuneState) -> tuple[SymptomChange, ...]:
    """Return the symptoms of a knob before and after; empty unless both runs were recorded."""
    if state.answered is None:
        return ()
    before, after = (run.profile.numbers for run in (state.recorded[-1], state.answered))
    return symptom_changes(knobs.all_knobs()[knob].symptoms, before, after)


def with_afterwards(tuned: Tuned, state: TuneState) -> Tuned:
    """Return the result with the changed symptoms of its settings and the times of both recorded runs."""
    if state.answered is None:
        return tuned
    changes = [replace(change, afterwards=afterwards_of(change.knob, state)) for change in tuned.changes]
    splits = (tuned.split.original, tuned.split.tuned) if tuned.split else (None, None)
    before, after = (
        run_times(run.record, run.profile, run.run_s, split.end_s if split is not None else None)
        for run, split in zip((state.recorded[-1], state.answered), splits, strict=True)
    )
    return replace(tuned, changes=tuple(changes), times=(before, after))
