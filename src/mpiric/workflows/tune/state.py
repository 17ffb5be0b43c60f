"""How far a tune has come, so that whatever ends it can be told."""

from dataclasses import dataclass, field
from math import inf

from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence
from mpiric.model.finding import Finding
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.tuning.objective import Objective
from mpiric.tuning.search.space import SearchSpace
from mpiric.workflows.trials.observe import Observed


@dataclass
class TuneState:
    """Filled in as things happen; never read back by the search or the proof."""

    argv: tuple[str, ...]
    observed: Observed
    objective: Objective = field(default_factory=Objective)
    checked_output: str = "learned"  # "learned", "command" or "none": what stood guard over the answers
    earlier: tuple[Trial, ...] = ()  # recorded before an interruption
    known: tuple[Trial, ...] = ()  # all that were made ahead of the search, in rounds
    space: SearchSpace = field(default_factory=SearchSpace)
    findings: tuple[Finding, ...] = ()
    trials: list[Trial] = field(default_factory=list)  # of the search, in order
    rejected: dict[Configuration, str] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    interrupted: bool = False
    notes: list[str] = field(default_factory=list)

    def take(self, trial: Trial) -> None:
        """Note a run of the search."""
        self.trials.append(trial)

    @property
    def best(self) -> float | None:
        """Smallest objective of the search so far: one run, so only a hint."""
        values = [trial.objective for trial in self.trials if trial.objective is not None]
        return min(values, default=None)

    @property
    def quickest_s(self) -> float:
        """Wall time of the quickest run of the search that counts; infinite before there is one."""
        return min((trial.wall_s for trial in self.trials if trial.outcome is Outcome.OK), default=inf)

    def recorded_pairs(self, candidate: Configuration) -> tuple[Trial, ...]:
        """Runs of this candidate's proof from before an interruption, and the original's of its pairs."""
        proof = [
            trial
            for trial in self.earlier
            if trial.phase is Phase.PROOF and trial.outcome is not Outcome.INTERRUPTED
        ]
        pairs = {trial.pair for trial in proof if trial.configuration == candidate}
        return tuple(
            trial
            for trial in proof
            if trial.pair in pairs and trial.configuration in (candidate, Configuration())
        )
