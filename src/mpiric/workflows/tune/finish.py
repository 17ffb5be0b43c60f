"""`tune --finish`: the tuned command to its end, against a whole run of the original or what one has left."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from mpiric.host.files import is_file
from mpiric.lab.judge import Judge, kept_files, set_by
from mpiric.lab.lab import Lab
from mpiric.lab.probes import between
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Verdict
from mpiric.model.marks import MarkPair
from mpiric.model.run import Plan, Run
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.model.whole_check import WholeCheck, WholeVerdict
from mpiric.tuning.equivalence.whole_runs import WholeOutput, whole_disagreement
from mpiric.tuning.marks.later_pace import UNREACHED, against_forecast, pace_of
from mpiric.tuning.objective import Objective
from mpiric.workflows.tune.reference import reference_output
from mpiric.workflows.tune.state import TuneState

_ORIGINALS = 2  # whole runs of it at the most: what differs from one may vary by itself
_PATIENCE, _SLACK_S = 4.0, 30.0  # the tuned run may take so many times as long as the original


def finish(state: TuneState) -> Plan[None]:
    """Fill in what the whole tuned run shows, where one was asked for and trials ended at marks.

    These runs are not counted against the budget: how long they take is the program's own affair.
    """
    request = state.request
    answer = next((each.configuration for each in state.evidence if each.verdict is Verdict.FASTER), None)
    if not request.finish or answer is None:
        return
    if state.marks is None:
        state.note("--finish: every run went to its end already")
        return
    state.narrator.phase("Running the tuned command to its end")
    with _whole_runs(state.lab, state.marks.pair, state.request.objective):
        state.whole = yield from _check(state, answer)
    state.note(f"the whole run {state.whole.verdict.value}: {state.whole.why}")


@contextmanager
def _whole_runs(lab: Lab, pair: MarkPair, objective: Objective) -> Iterator[None]:
    """Runs go to their end, are judged here, and keep the times of all their marks."""
    judge, probes = lab.judge, lab.probes
    lab.judge = Judge(objective)
    library = getattr(probes[Phase.PROOF], "library", "")
    lab.probes = {Phase.FINISH: between(replace(pair, last=UNREACHED), library, ends=False)}
    try:
        yield
    finally:
        lab.judge, lab.probes = judge, probes


def _check(state: TuneState, answer: Configuration) -> Plan[WholeCheck]:
    originals: list[Trial] = []
    references: list[WholeOutput] = []

    def run_original() -> Plan[bool]:
        trial = yield Run(Configuration(), Phase.FINISH)
        if trial.outcome is Outcome.OK:
            originals.append(trial)
            references.append(_output(trial))
        return trial.outcome is Outcome.OK

    if state.request.reference is None and not (yield from run_original()):
        return WholeCheck(why="the command as it is failed in its whole run")
    limit_s = _PATIENCE * originals[0].wall_s + _SLACK_S if originals else None
    tuned = yield Run(answer, Phase.FINISH, limit_s=limit_s)
    if tuned.outcome is not Outcome.OK:
        return WholeCheck(WholeVerdict.DIFFERS, tuned.reason or tuned.outcome.value)
    found = _output(tuned)
    if state.request.reference is not None:
        references.append(reference_output(state.request.reference, found, state.request.working_directory))
    different = _disagreement(state, answer, references, found)
    while different and len(originals) < _ORIGINALS and (yield from run_original()):
        different = _disagreement(state, answer, references, found)
    if different:
        return WholeCheck(WholeVerdict.DIFFERS, different)
    return WholeCheck(WholeVerdict.AGREES, _words(state, tuned, answer))


def _output(trial: Trial) -> WholeOutput:
    kept = kept_files(trial)
    files = {str(path.relative_to(kept)): path for path in sorted(kept.rglob("*")) if is_file(path)}
    return WholeOutput(Path(trial.stdout), files)


def _disagreement(
    state: TuneState, answer: Configuration, references: Sequence[WholeOutput], found: WholeOutput
) -> str:
    settings = set_by(render(answer, state.situation))
    rounding = state.request.allowed.rounding
    return whole_disagreement(references, found, rounding=rounding, settings=settings)


def _words(state: TuneState, whole: Trial, answer: Configuration) -> str:
    """What was compared, and whether later steps kept the pace of those of the proof."""
    assert state.marks is not None
    words = f"what it printed and wrote in {whole.wall_s:.3g} s is the original's"
    pair = state.marks.pair
    tuned = [
        trial.split.per_mark_s
        for trial in state.log.read().trials_of(Phase.PROOF)
        if trial.configuration == answer and trial.split is not None and trial.split.per_mark_s
    ]
    later = (
        against_forecast(pace_of(whole.marks, pair), pair, sorted(tuned)[len(tuned) // 2]) if tuned else ""
    )
    return f"{words}; {later}" if later else words
