"""Effects of an answer, from a recorded run: changed symptoms, and the files that it writes.

Files: effective hints and layouts, bytes and times, and files outside of the run directory.
"""

import fnmatch
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path, PurePath, PurePosixPath
from statistics import median

from mpiric import knobs
from mpiric.host.host import Host
from mpiric.host.processes.request import after
from mpiric.lab.directory_runs import RECORDS, Recorded
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.evidence import Verdict
from mpiric.model.profile import Behaviour
from mpiric.model.quoting import one_line
from mpiric.model.run import RECORDED, Outcome, Phase, Plan, Trial
from mpiric.model.storage import FileLayout, parse_hints, parse_layouts, write_layout
from mpiric.model.tuned import FileTimes, SymptomChange, Tuned
from mpiric.profile.efficiency import run_times
from mpiric.profile.files import read_hints
from mpiric.profile.numbers import symptom_changes
from mpiric.storage import layouts_of
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
    for path, layout in layouts.items():
        requested = _requested(Path(path), directory, value or "")
        if requested is not None and not _is_equal(layout, requested):
            yield f"{Path(path).name} was written as {write_layout(layout)}, not as {write_layout(requested)}"


def _requested(path: Path, directory: Path, value: str) -> FileLayout | None:
    for rule in parse_layouts(value):
        by_name = rule.is_pattern and fnmatch.fnmatchcase(path.name, rule.where)
        if by_name or (not rule.is_pattern and path.parent == directory / rule.where):
            return rule.layout
    return None


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
