"""Number of runs until a search is right."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import takewhile
from statistics import median

from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Trial


def right_after(trials: Iterable[Trial], is_right: Callable[[Configuration], bool]) -> int | None:
    """Return the number of runs until the configuration with the best median so far was right.

    Every run before the proof counts, also the runs of the original. None: it never was right.
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
    """Return the knobs that the search tried, in the order of their first run."""
    searched = (trial.configuration for trial in trials if trial.phase is Phase.SEARCH)
    return tuple(dict.fromkeys(knob for configuration in searched for knob, _ in configuration.items))
