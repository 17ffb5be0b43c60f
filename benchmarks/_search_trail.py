"""What the runs of a search say of how soon it was right."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import takewhile
from statistics import median

from mpiric.model.configuration import Configuration
from mpiric.model.trial import Outcome, Phase, Trial


def right_after(trials: Iterable[Trial], is_right: Callable[[Configuration], bool]) -> int | None:
    """How many runs it took until the best configuration, by the median of its runs so far, was right.

    Every run before the proof counts, those of the original too. None: it never was.
    """
    times: dict[Configuration, list[float]] = defaultdict(list)
    before_proof = takewhile(lambda trial: trial.phase is not Phase.PROOF, trials)
    for count, trial in enumerate(before_proof, start=1):
        if trial.outcome is not Outcome.OK or trial.objective is None:
            continue
        times[trial.configuration].append(trial.objective)
        if is_right(min(times, key=lambda configuration: median(times[configuration]))):
            return count
    return None


def knobs_run(trials: Iterable[Trial]) -> tuple[str, ...]:
    """Knobs that the search spent a run on, in the order of their first."""
    searched = (trial.configuration for trial in trials if trial.phase is Phase.SEARCH)
    return tuple(dict.fromkeys(knob for configuration in searched for knob, _ in configuration.items))
