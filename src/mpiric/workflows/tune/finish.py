"""`tune --finish`: a complete run of the tuned command, compared with a complete run of the original.

The output of the original may be given as a directory (``--reference``).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from statistics import median_high

from mpiric.host.files import exists, is_directory, is_file
from mpiric.lab.judge import Judge, set_by
from mpiric.lab.lab import Lab
from mpiric.lab.mark_judge import kept_files
from mpiric.lab.probes import between
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.evidence import Verdict, WholeCheck, WholeVerdict
from mpiric.model.pace import MarkPair
from mpiric.model.quoting import one_line
from mpiric.model.run import COMPLETE, Outcome, Phase, Plan, Run, Trial
from mpiric.outputs.digest import file_digest
from mpiric.outputs.equivalence import NONE_ACCEPTED, AcceptedDifferences, learn
from mpiric.outputs.files import by_key, differ_in_times_alone, files_in, is_text
from mpiric.tuning.mark_split import UNREACHED, against_forecast, pace_of
from mpiric.tuning.objective import Objective
from mpiric.workflows.tune.state import TuneState

_ORIGINALS = 2  # most complete runs of the original; its output may vary by itself


@dataclass(frozen=True)
class WholeOutput:
    """Output of a complete run."""

    stdout: Path | None  # None if it was not stored
    files: Mapping[str, Path] = field(default_factory=dict)  # relative path → copy to read


def finish(state: TuneState) -> Plan[None]:
    """Check a complete run of the answer, if the user asked for it and trials ended at step markers.

    These runs do not count against the budget, as the program determines their duration.
    """
    request = state.request
    answer = next((proof.configuration for proof in state.evidence if proof.verdict is Verdict.FASTER), None)
    if not request.finish or answer is None:
        return
    if state.marks is None:
        state.note("--finish has no effect: all runs went to their ends")
        return
    state.narrator.phase("Running the tuned command to its end")
    with _whole_runs(state.lab, state.marks.pair, state.request.objective):
        state.whole_check = yield from _check(state, answer)
    state.note(f"the whole run {state.whole_check.verdict.value}: {state.whole_check.why}")


@contextmanager
def _whole_runs(lab: Lab, pair: MarkPair, objective: Objective) -> Iterator[None]:
    """Make complete runs that are not judged by the lab and keep the times of all step markers."""
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
        return WholeCheck(why="the original failed in its whole run")
    limit_s = COMPLETE.after(originals[0].wall_s) if originals else None
    tuned = yield Run(answer, Phase.FINISH, limit_s=limit_s)
    if tuned.outcome is not Outcome.OK:
        return WholeCheck(WholeVerdict.DIFFERS, tuned.reason or tuned.outcome.value)
    output = _output(tuned)
    if state.request.reference is not None:
        references.append(reference_output(state.request.reference, output, state.request.working_directory))
    different = _disagreement(state, answer, references, output)
    while different and len(originals) < _ORIGINALS and (yield from run_original()):
        different = _disagreement(state, answer, references, output)
    if different:
        return WholeCheck(WholeVerdict.DIFFERS, different)
    return WholeCheck(WholeVerdict.AGREES, _agreement(state, tuned, answer))


def _output(trial: Trial) -> WholeOutput:
    return WholeOutput(Path(trial.stdout), files_in(kept_files(trial)))


def _disagreement(
    state: TuneState, answer: Configuration, references: Sequence[WholeOutput], output: WholeOutput
) -> str:
    settings = set_by(render(answer, state.situation))
    accepted = AcceptedDifferences(state.request.allowed.rounding, settings)
    return whole_disagreement(references, output, accepted)


def _agreement(state: TuneState, trial: Trial, answer: Configuration) -> str:
    """Return a sentence on the comparison, and on the pace of later steps relative to the proof."""
    assert state.marks is not None
    sentence = f"its output and files after {trial.wall_s:.3g} s equal those from the original"
    pair = state.marks.pair
    tuned = [
        trial.split.per_mark_s
        for trial in state.log.read().trials_of(Phase.PROOF)
        if trial.configuration == answer and trial.split is not None and trial.split.per_mark_s
    ]
    later = against_forecast(pace_of(trial.marks, pair), pair, median_high(tuned)) if tuned else ""
    return f"{sentence}; {later}" if later else sentence


STDOUT = "stdout"  # name of the file with the printed output
_HINT = f"--reference takes a directory with the files of a complete run, and its output in a file '{STDOUT}'"


def check_reference(directory: Path) -> Path:
    """Return the absolute path of a reference. Raises MpiricError if it holds no file."""
    if not is_directory(directory):
        raise NotFoundError(f"--reference: {directory} is not a directory", hint=_HINT)
    if not any(is_file(path) for path in directory.rglob("*")):
        raise MpiricError(f"--reference: {directory} contains no file", hint=_HINT)
    return directory.absolute()


def reference_output(directory: Path, output: WholeOutput, working_directory: str) -> WholeOutput:
    """Return the reference for a run, without inputs, which no run writes."""
    stdout = directory / STDOUT
    files = {
        name: path
        for path in sorted(directory.rglob("*"))
        if is_file(path) and path != stdout
        for name in [str(path.relative_to(directory))]
        if name in output.files or not exists(Path(working_directory, name))
    }
    return WholeOutput(stdout if is_file(stdout) else None, files)


def whole_disagreement(
    references: Sequence[WholeOutput], run: WholeOutput, accepted: AcceptedDifferences = NONE_ACCEPTED
) -> str:
    """Return the first difference from the references in a sentence; "" if there is none.

    Outputs and files that all references have are compared. With one reference, output that varies between
    runs of the original is reported as well.
    """
    printed = [reference.stdout for reference in references if reference.stdout is not None]
    if printed and run.stdout is not None:
        different = learn(_at_least_two(printed)).compare(run.stdout, accepted)
        if different is not None:
            return str(different)
    keyed, files = [by_key(reference.files) for reference in references], by_key(run.files)
    for name in sorted(set.intersection(*map(set, keyed))):
        originals = [reference_files[name] for reference_files in keyed]
        if name not in files:
            return f"the file '{one_line(name)}' was not written"
        if reason := _file_disagreement(originals, files[name], accepted):
            return f"the file '{one_line(name)}' {reason}"
    return ""


def _file_disagreement(originals: Sequence[Path], path: Path, accepted: AcceptedDifferences) -> str:
    hashes = {file_digest(original) for original in originals}
    if file_digest(path) in hashes:
        return ""
    if all(map(is_text, (*originals, path))):
        different = learn(_at_least_two(originals)).compare(path, accepted)
        return f"differs: {different.sentence}" if different is not None else ""
    if len(hashes) > 1 or differ_in_times_alone(originals[0], path):
        return ""  # the file varies between runs of the original
    return "differs from the original's"


def _at_least_two(paths: Sequence[Path]) -> list[Path]:
    return [*paths] if len(paths) > 1 else [*paths, *paths]
