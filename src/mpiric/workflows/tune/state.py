"""TuneState: a tune between its first runs and its result."""

from dataclasses import field
from math import inf

from mpiric.host.isolation.working_copies import WorkingCopies
from mpiric.lab.lab import Lab, LoggedTrials
from mpiric.lab.recording import Recorded
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.evidence import Evidence
from mpiric.model.finding import Finding
from mpiric.model.narrator import Narrator
from mpiric.model.situation import Situation
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.model.tuned import CannotMatter
from mpiric.model.whole_check import WholeCheck
from mpiric.plans.search import ProofCandidate
from mpiric.statistics.space import SearchSpace
from mpiric.tuning.budget import Budget
from mpiric.tuning.store.store import TuneLog
from mpiric.workflows.trials.step_markers import StepMarkers
from mpiric.workflows.tune.request import TuneRequest


@dataclass
class TuneState:
    """Knowledge and remaining budget of a tune; each step reads the results of the steps before it.

    The observation fills in ``situation`` to ``marks_why``, learning replaces the tuner of the situation,
    the search fills in ``space`` to ``rejected``, the proof ``evidence``. An interruption leaves the rest
    empty.
    """

    request: TuneRequest
    log: TuneLog
    lab: Lab
    copies: WorkingCopies
    budget: Budget
    narrator: Narrator
    earlier: tuple[Trial, ...] = ()  # trials before an interruption, or of the jobs of an array
    logged: LoggedTrials = field(default_factory=LoggedTrials)  # trials that answer runs of search and proof
    originals: tuple[Trial, ...] = ()  # runs of the unchanged command, including recorded ones
    run_s: float = 0.0  # duration of such a run, including setup and clean-up
    recorded: tuple[Recorded, ...] = ()  # records of the unchanged command
    answered: Recorded | None = None  # record of the answer
    marks: StepMarkers | None = None  # step markers where runs end; None: complete runs
    marks_why: str = ""  # reason for complete runs
    array_trials: tuple[Trial, ...] = ()  # trials of the jobs of an array, made comparable
    is_planned: bool = False  # a round of an array is being planned; nothing runs
    space: SearchSpace = field(default_factory=SearchSpace)
    cannot_matter: tuple[CannotMatter, ...] = ()
    findings: tuple[Finding, ...] = ()
    shortfall: str = ""  # reason why the budget seemed too small for a proof
    searched: list[Trial] = field(default_factory=list)  # trials of the search, in order
    candidates: dict[Configuration, ProofCandidate] = field(default_factory=dict)  # candidates of the search
    rejected: dict[Configuration, str] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    whole_check: WholeCheck = field(default_factory=WholeCheck)  # result of --finish
    interrupted: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def situation(self) -> Situation:
        """Return the facts about the job so far."""
        return self.lab.situation

    @situation.setter
    def situation(self, situation: Situation) -> None:
        self.lab.situation = situation

    def note(self, sentence: str) -> None:
        """Keep a sentence for the result."""
        self.notes.append(sentence)

    def report(self, trial: Trial) -> None:
        """Show a trial that has ended."""
        shown = [*self.searched, trial] if trial.phase is Phase.SEARCH else self.searched
        values = [other.objective for other in shown if other.objective is not None]
        self.narrator.trial(trial, min(values, default=None), self.budget.remaining_s)

    @property
    def quickest_s(self) -> float:
        """Return the shortest successful run of the search with setup and clean-up, else infinity."""
        ended = (trial for trial in self.searched if trial.outcome is Outcome.OK)
        return min((trial.took_s or trial.safe_s or trial.wall_s for trial in ended), default=inf)
