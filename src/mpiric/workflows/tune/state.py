"""TuneState: a tune between its first runs and its result."""

from dataclasses import dataclass, field
from math import inf

from mpiric.host.isolation.working_copies import WorkingCopies
from mpiric.lab.lab import Lab, LoggedTrials
from mpiric.lab.recording import Recorded
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence
from mpiric.model.finding import Finding
from mpiric.model.narrator import Narrator
from mpiric.model.situation import Situation
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.model.tuned import CannotMatter
from mpiric.model.whole_check import WholeCheck
from mpiric.plans.search import ProofCandidate
from mpiric.tuning.budget import Budget
from mpiric.tuning.search.space import SearchSpace
from mpiric.tuning.store.store import TuneLog
from mpiric.workflows.trials.find_marks import FoundMarks
from mpiric.workflows.tune.request import TuneRequest


@dataclass
class TuneState:
    """What is known and what is left; each step reads what the steps before it have filled in.

    Observing fills in ``situation`` to ``marks_why``, learning replaces the situation's tuner, the search
    fills in ``space`` to ``rejected``, the proof ``evidence``. An interruption leaves the rest empty.
    """

    request: TuneRequest
    log: TuneLog
    lab: Lab
    copies: WorkingCopies
    budget: Budget
    narrator: Narrator
    earlier: tuple[Trial, ...] = ()  # recorded before an interruption, or by an array's jobs
    logged: LoggedTrials = field(default_factory=LoggedTrials)  # trials that answer runs of search and proof
    originals: tuple[Trial, ...] = ()  # runs of the command as it is, recorded ones among them
    run_s: float = 0.0  # of a run of it, with all that surrounds the run
    recorded: tuple[Recorded, ...] = ()  # what recorded runs of the command as it is have left
    answered: Recorded | None = None  # what a recorded run of the answer has left
    marks: FoundMarks | None = None  # at which runs end; None: they are whole
    marks_why: str = ""  # why they are whole
    known: tuple[Trial, ...] = ()  # those of an array's jobs, made comparable
    is_planned: bool = False  # a round of an array is planned, and nothing runs
    space: SearchSpace = field(default_factory=SearchSpace)
    cannot_matter: tuple[CannotMatter, ...] = ()
    findings: tuple[Finding, ...] = ()
    shortfall: str = ""  # why the budget seemed too small for a proof
    searched: list[Trial] = field(default_factory=list)  # in order
    candidates: dict[Configuration, ProofCandidate] = field(default_factory=dict)  # as the search sees them
    rejected: dict[Configuration, str] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    whole: WholeCheck = field(default_factory=WholeCheck)  # of the answer run to its end
    interrupted: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def situation(self) -> Situation:
        """What is known of the job by now."""
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
        values = [each.objective for each in shown if each.objective is not None]
        self.narrator.trial(trial, min(values, default=None), self.budget.remaining_s)

    @property
    def quickest_s(self) -> float:
        """The quickest run of the search that counts, with what surrounds it; else infinite."""
        ended = (trial for trial in self.searched if trial.outcome is Outcome.OK)
        return min((trial.took_s or trial.safe_s or trial.wall_s for trial in ended), default=inf)
