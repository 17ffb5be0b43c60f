"""What a tune's answer does to files: hints that the library obeyed, bytes and times of its runs."""

import fnmatch
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from statistics import median

from mpiric.model.configuration import Configuration
from mpiric.model.file_rules import parse_hints
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.model.tuned import FileTimes
from mpiric.profile.hints import Hints, read_hints
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
