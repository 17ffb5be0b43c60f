"""What a tune's answer does to files: hints that the library obeyed, bytes and times of its runs."""

import fnmatch
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from statistics import median

from mpiric.host.host import Host
from mpiric.lab.recording import Recorded
from mpiric.model.configuration import Configuration
from mpiric.model.file_rules import parse_hints, parse_layouts, write_layout
from mpiric.model.storage import FileLayout
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.model.tuned import FileTimes
from mpiric.profile.hints import Hints, read_hints
from mpiric.storage import layouts_of
from mpiric.workflows.tune.state import TuneState

InForce = dict[str, dict[str, tuple[str, str | None]]]


def hints_of(configuration: Configuration, state: TuneState) -> InForce:
    """Pattern → hint → as asked, and as in force in the recorded run of the answer."""
    value = configuration.as_dict().get("mpi-io")
    if value is None:
        return {}
    found = read_hints(state.answered.directory) if state.answered else {}
    return {
        rule.pattern: {key: (asked, _in_force(rule.pattern, key, found)) for key, asked in rule.hints.items()}
        for rule in parse_hints(value)
    }


def _in_force(pattern: str, key: str, found: Hints) -> str | None:
    values = [hints[key] for path, hints in found.items() if key in hints if _fits(path, pattern)]
    return values[0] if values else None


def _fits(path: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(PurePosixPath(path).name, pattern)


def ignored_hints(configuration: Configuration, state: TuneState) -> Iterator[str]:
    """Sentences on hints of the answer that the library did not take as they were asked."""
    if state.answered is None or not read_hints(state.answered.directory):
        return
    for pattern, hints in hints_of(configuration, state).items():
        ignored = [_words(key, pair) for key, pair in hints.items() if pair[0] != pair[1]]
        if ignored:
            yield f"not taken by the library, of the hints for {pattern}: {', '.join(ignored)}"


def _words(key: str, pair: tuple[str, str | None]) -> str:
    return f"{key}={pair[0]}" + (f" (it has {pair[1]})" if pair[1] is not None else "")


def other_layouts(configuration: Configuration, recorded: Recorded, host: Host) -> Iterator[str]:
    """Sentences on files that a recorded run has written in another layout than the configuration sets.

    A file system may answer success and change nothing, as Lustre does for a file that is there already.
    """
    value = configuration.as_dict().get("layout")
    directory = Path(recorded.ran_in)
    written = [directory / file.path for file in recorded.profile.files if file.bytes_written]
    found = layouts_of(host, [str(path) for path in written]) if value and recorded.ran_in else {}
    for path, layout in found.items():
        wanted = _wanted(Path(path), directory, value or "")
        if wanted is not None and not _is(layout, wanted):
            yield f"{Path(path).name} was written as {write_layout(layout)}, not as {write_layout(wanted)}"


def _wanted(path: Path, directory: Path, value: str) -> FileLayout | None:
    for rule in parse_layouts(value):
        by_name = rule.is_pattern and fnmatch.fnmatchcase(path.name, rule.where)
        if by_name or (not rule.is_pattern and path.parent == directory / rule.where):
            return rule.layout
    return None


def _is(layout: FileLayout, wanted: FileLayout) -> bool:
    """Whether a file has a layout; one over all targets names those that it got."""
    found, asked = ([(each.size_bytes, each.end_bytes) for each in one.stripes] for one in (layout, wanted))
    counts = zip(layout.stripes, wanted.stripes, strict=False)
    return found == asked and all(one.count == other.count or other.count < 0 for one, other in counts)


def file_times(trials: Sequence[Trial], configuration: Configuration) -> FileTimes | None:
    """Medians over the runs of a configuration, those of its proof where there is one."""
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
