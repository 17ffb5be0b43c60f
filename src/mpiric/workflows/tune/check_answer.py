"""Runs of a proved answer: a recorded run, and a complete run for ``tune --finish``.

The recorded run shows changed symptoms and the files that it writes: effective hints and layouts, bytes and
times, and files outside of the run directory. The output of the complete run is compared with a complete run
of the original, or with a directory that holds its output (``--reference``).
"""

import fnmatch
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path, PurePath, PurePosixPath
from statistics import median, median_high

from mpiric import knobs
from mpiric.host.files import exists, is_directory, is_file
from mpiric.host.host import Host
from mpiric.host.processes.request import after
from mpiric.lab.directory_runs import RECORDS, Recorded
from mpiric.lab.judge import Judge, set_by
from mpiric.lab.mark_judge import kept_files
from mpiric.lab.probes import between
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.evidence import Verdict, WholeCheck, WholeVerdict
from mpiric.model.profile import Behaviour
from mpiric.model.quoting import one_line
from mpiric.model.run import COMPLETE, RECORDED, Outcome, Phase, Plan, Run, Trial
from mpiric.model.storage import FileLayout, parse_hints, parse_layouts, write_layout
from mpiric.model.tuned import FileTimes, SymptomChange, Tuned
from mpiric.outputs.digest import file_digest
from mpiric.outputs.equivalence import NONE_ACCEPTED, AcceptedDifferences, learn
from mpiric.outputs.files import by_key, differ_in_times_alone, files_in, is_text
from mpiric.profile.efficiency import run_times
from mpiric.profile.files import read_hints
from mpiric.profile.numbers import symptom_changes
from mpiric.storage import layouts_of
from mpiric.tuning.mark_split import UNREACHED, against_forecast, pace_of
from mpiric.workflows.trials.recorded_runs import recorded_by, recorded_run, recorder_for
from mpiric.workflows.tune.state import TuneState

_OF_THE_SYSTEM = ("/dev", "/proc", "/sys")
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108
_NAMED = 10  # limit of named files; further files are counted

InForce = dict[str, dict[str, tuple[str, str | None]]]


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
    limit_s = RECORDED.after(max(trial.wall_s for trial in state.originals))
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
    return symptom_changes(knobs.knob_named(knob).symptoms, before, after)


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


def hints_of(configuration: Configuration, state: TuneState) -> InForce:
    """Return pattern → hint → requested value, and value in force in the recorded run of the answer."""
    value = configuration.as_dict().get("mpi-io")
    if value is None:
        return {}
    effective = read_hints(state.answered.directory) if state.answered else {}

    def in_force(pattern: str, key: str) -> str | None:
        values = (
            hints[key]
            for path, hints in effective.items()
            if key in hints and fnmatch.fnmatchcase(PurePosixPath(path).name, pattern)
        )
        return next(values, None)

    return {
        rule.pattern: {key: (hint, in_force(rule.pattern, key)) for key, hint in rule.hints.items()}
        for rule in parse_hints(value)
    }


def ignored_hints(configuration: Configuration, state: TuneState) -> Iterator[str]:
    """Yield sentences on hints of the answer that the library ignored or changed."""
    if state.answered is None or not read_hints(state.answered.directory):
        return
    for pattern, hints in hints_of(configuration, state).items():
        ignored = [
            f"{key}={requested}" + (f" (it has {effective})" if effective is not None else "")
            for key, (requested, effective) in hints.items()
            if requested != effective
        ]
        if ignored:
            yield f"not taken by the library, of the hints for {pattern}: {', '.join(ignored)}"


def other_layouts(configuration: Configuration, recorded: Recorded, host: Host) -> Iterator[str]:
    """Yield sentences on files that a recorded run has written in another layout than the configuration sets.

    A file system may report success and change nothing, as Lustre does for an existing file.
    """
    value = configuration.as_dict().get("layout")
    directory = Path(recorded.ran_in)
    written = [directory / file.path for file in recorded.profile.files if file.bytes_written]
    layouts = layouts_of(host, [str(path) for path in written]) if value and recorded.ran_in else {}
    for path, layout in ((Path(path), layout) for path, layout in layouts.items()):
        for rule in parse_layouts(value or ""):
            is_match = fnmatch.fnmatchcase(path.name, rule.where) if rule.is_pattern else False
            if is_match or (not rule.is_pattern and path.parent == directory / rule.where):
                if not _is_equal(layout, rule.layout):
                    written_as, requested = write_layout(layout), write_layout(rule.layout)
                    yield f"{path.name} was written as {written_as}, not as {requested}"
                break


def _is_equal(layout: FileLayout, requested: FileLayout) -> bool:
    """Return whether a file has the requested layout; a negative count requests all targets."""
    sizes, requested_sizes = (
        [(stripes.size_bytes, stripes.end_bytes) for stripes in one.stripes] for one in (layout, requested)
    )
    counts = zip(layout.stripes, requested.stripes, strict=False)
    return sizes == requested_sizes and all(
        one.count == other.count or other.count < 0 for one, other in counts
    )


def file_times(trials: Sequence[Trial], configuration: Configuration) -> FileTimes | None:
    """Return medians over the runs of a configuration, of its proof if it has one."""
    runs = [
        trial
        for trial in trials
        if trial.configuration == configuration and trial.outcome is Outcome.OK and trial.safe_s is not None
        if trial.phase is not Phase.RECORD
    ]
    runs = [trial for trial in runs if trial.phase is Phase.PROOF] or runs
    written = max((trial.written_bytes for trial in runs), default=0)
    if not written:
        return None
    return FileTimes(
        written, median(trial.wall_s for trial in runs), median(trial.safe_s or 0.0 for trial in runs)
    )


def written_outside(
    behaviour: Behaviour | None, environment: Mapping[str, str], host: Host, *, ends_at_mark: bool
) -> list[str]:
    """Return sentences on files that runs write outside of their own directory.

    Every run overwrites these files of the user. Devices are left out, and temporary files that the program
    has removed again.
    """
    temporary = (*_TEMPORARY, *filter(None, [environment.get("TMPDIR")]))
    appended: set[str] = set()
    written: set[str] = set()
    for file in behaviour.files if behaviour else ():
        if not file.writes or not leads_outside(file.path):
            continue
        is_kept = host.is_file(file.path) if _is_below(file.path, temporary) else True
        if is_kept and (_is_below(file.path, temporary) or not _is_below(file.path, _OF_THE_SYSTEM)):
            (appended if "append" in file.opened else written).add(file.path)
    where = "outside of the directory that it runs in"
    leaver = "a run leaves it that is ended early" if ends_at_mark else "the last run left it"
    sentences = []
    if appended:
        sentences.append(
            f"it appends to {_names(appended)} {where}: every run has added to that, "
            "and nothing of it was compared"
        )
    if overwritten := written - appended:
        sentences.append(
            f"it writes {_names(overwritten)} {where}: every run writes there, nothing of that was compared, "
            f"and it is left as {leaver}"
        )
    return sentences


def _names(paths: Collection[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(one_line(path) for path in sorted(paths)[:_NAMED]) + more


def leads_outside(path: str) -> bool:
    """Return whether a recorded path is outside of the directory that the program runs in."""
    return PurePath(path).is_absolute() or PurePath(path).parts[:1] == ("..",)


def _is_below(path: str, directories: Iterable[str]) -> bool:
    return any(PurePath(path).is_relative_to(directory) for directory in directories)


_ORIGINALS = 2  # most complete runs of the original; its output may vary by itself


# Output of a complete run: its stdout, None if it was not stored, and relative path → copy to read.
WholeOutput = tuple[Path | None, Mapping[str, Path]]


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
    lab, judge, probes = state.lab, state.lab.judge, state.lab.probes
    lab.judge = Judge(request.objective)  # the outputs are compared here
    library = getattr(probes[Phase.PROOF], "library", "")
    lab.probes = {Phase.FINISH: between(replace(state.marks.pair, last=UNREACHED), library, ends=False)}
    try:
        state.whole_check = yield from _check(state, answer)
    finally:
        lab.judge, lab.probes = judge, probes
    state.note(f"the whole run {state.whole_check.verdict.value}: {state.whole_check.why}")


def _check(state: TuneState, answer: Configuration) -> Plan[WholeCheck]:
    originals: list[Trial] = []
    references: list[WholeOutput] = []

    settings = set_by(render(answer, state.situation))
    accepted = AcceptedDifferences(state.request.allowed.rounding, settings)

    def output_of(trial: Trial) -> WholeOutput:
        return Path(trial.stdout), files_in(kept_files(trial))

    def run_original() -> Plan[bool]:
        trial = yield Run(Configuration(), Phase.FINISH)
        if trial.outcome is Outcome.OK:
            originals.append(trial)
            references.append(output_of(trial))
        return trial.outcome is Outcome.OK

    if state.request.reference is None and not (yield from run_original()):
        return WholeCheck(why="the original failed in its whole run")
    limit_s = COMPLETE.after(originals[0].wall_s) if originals else None
    tuned = yield Run(answer, Phase.FINISH, limit_s=limit_s)
    if tuned.outcome is not Outcome.OK:
        return WholeCheck(WholeVerdict.DIFFERS, tuned.reason or tuned.outcome.value)
    output = output_of(tuned)
    if state.request.reference is not None:
        references.append(reference_output(state.request.reference, output, state.request.working_directory))
    different = whole_disagreement(references, output, accepted)
    while different and len(originals) < _ORIGINALS and (yield from run_original()):
        different = whole_disagreement(references, output, accepted)
    if different:
        return WholeCheck(WholeVerdict.DIFFERS, different)
    return WholeCheck(WholeVerdict.AGREES, _agreement(state, tuned, answer))


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
        if name in output[1] or not exists(Path(working_directory, name))
    }
    return (stdout if is_file(stdout) else None), files


def whole_disagreement(
    references: Sequence[WholeOutput], run: WholeOutput, accepted: AcceptedDifferences = NONE_ACCEPTED
) -> str:
    """Return the first difference from the references in a sentence; "" if there is none.

    Outputs and files that all references have are compared. With one reference, output that varies between
    runs of the original is reported as well.
    """
    run_stdout, run_files = run
    printed = [stdout for stdout, _ in references if stdout is not None]
    if printed and run_stdout is not None:
        different = learn(_at_least_two(printed)).compare(run_stdout, accepted)
        if different is not None:
            return str(different)
    keyed, files = [by_key(reference_files) for _, reference_files in references], by_key(run_files)
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
