"""Failure rate of the command itself: a failure that the original shares is not the fault of a setting."""

from collections import Counter
from dataclasses import dataclass, field
from math import comb

from mpiric.model.configuration import Configuration
from mpiric.model.trial import Outcome, Trial

FAILURES = (Outcome.FAILED, Outcome.TIMED_OUT)
_CHANCE = 0.02  # probability of a series of failures of the original; below it, the setting is the cause
_MOST_RUNS = 4  # runs of one configuration before it is rejected
_LATE = 2  # time-outs that are examined; without any failure of the original further ones are slow runs


@dataclass
class Reliability:
    """Runs and failures of the original, and of each configuration."""

    runs: Counter[Configuration] = field(default_factory=Counter)
    failures: Counter[tuple[Configuration, Outcome]] = field(default_factory=Counter)
    _late: int = 0  # number of examined time-outs

    def enter(self, trial: Trial) -> None:
        """Count a run, unless it was stopped because the other run of its pair is faster."""
        if trial.at_least is None and trial.outcome not in (Outcome.REFUSED, Outcome.INTERRUPTED):
            self.runs[trial.configuration] += 1
            if trial.outcome in FAILURES:
                self.failures[trial.configuration, trial.outcome] += 1

    def is_known(self, outcome: Outcome) -> bool:
        """Return whether the original was seen to fail in this way."""
        return self.failures[Configuration(), outcome] > 0

    def is_to_repeat(self, trial: Trial, in_a_row: int) -> bool:
        """Return whether to repeat a configuration that failed ``in_a_row`` times before that counts."""
        if in_a_row >= _MOST_RUNS:
            return False
        if trial.outcome is Outcome.TIMED_OUT and not self.is_known(trial.outcome):
            self._late += in_a_row == 1
            return in_a_row == 1 and self._late <= _LATE
        original = Configuration()
        rate = (self.failures[original, trial.outcome] + 1) / (self.runs[original] + 2)
        return bool(rate**in_a_row >= _CHANCE)

    def is_unreliable(self, trial: Trial) -> bool:
        """Return whether a configuration fails more often than the original, though not in every run."""
        original, failures = Configuration(), self.failures[trial.configuration, trial.outcome]
        rate = (self.failures[original, trial.outcome] + 1) / (self.runs[original] + 2)
        runs = self.runs[trial.configuration]
        fewer = sum(comb(runs, n) * rate**n * (1 - rate) ** (runs - n) for n in range(failures))
        return 1 - fewer < _CHANCE

    def sentence(self, trial: Trial) -> str:
        """Return a sentence on the failure counts of a configuration and of the original."""
        failures, original = self.failures[trial.configuration, trial.outcome], Configuration()
        return (
            f"{trial.reason} in {failures} of {self.runs[trial.configuration]} runs, "
            f"the command as it is in {self.failures[original, trial.outcome]} of {self.runs[original]}"
        )

    @property
    def of_command(self) -> tuple[str, ...]:
        """Return sentences on the failures of the original."""
        original = Configuration()
        runs = self.runs[original]
        descriptions = {Outcome.TIMED_OUT: "did not end", Outcome.FAILED: "failed"}
        return tuple(
            f"the command itself {descriptions[outcome]} in {count} of {runs} runs"
            for outcome in FAILURES
            if (count := self.failures[original, outcome])
        )
