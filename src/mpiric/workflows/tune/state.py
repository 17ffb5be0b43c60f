"""Options of a tune, and its state between the first runs and the result."""

from collections.abc import Callable, Mapping
from dataclasses import field
from math import inf
from pathlib import Path

from mpiric.host.isolation.working_copies import WorkingCopies
from mpiric.lab.directory_runs import Recorded
from mpiric.lab.lab import Lab, LoggedTrials
from mpiric.model.batch import Spread
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import Finding
from mpiric.model.evidence import Evidence, WholeCheck
from mpiric.model.run import Narrator, Outcome, Phase, Trial
from mpiric.model.situation import Allowed, Situation
from mpiric.model.tuned import CannotMatter
from mpiric.plans.search import ProofCandidate
from mpiric.plans.stages import NORMAL, Effort
from mpiric.statistics.claims import StoppingRule
from mpiric.statistics.space import SearchSpace
from mpiric.tuning.mark_choice import NamedMark
from mpiric.tuning.objective import Budget, Objective
from mpiric.tuning.store import TuneLog
from mpiric.workflows.trials.step_markers import StepMarkers


@dataclass(frozen=True)
class TuneRequest:
    """The options of `mpiric tune`; ``argv`` is the user's launch line."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    stdin: str = ""  # path of a copy of the standard input
    budget_s: float = 600.0
    begun_s: float | None = None  # start of the command, by time.monotonic(); None: now
    max_runs: int | None = None
    only: tuple[str, ...] = ()  # knobs or families
    without: tuple[str, ...] = ()
    objective: Objective = field(default_factory=Objective)
    check_command: str = ""
    compare_output: bool = True
    ignore_lines: str = ""  # regular expression of lines that are not results
    in_place: bool = False
    io_budget: str = ""  # bytes that all runs may write: "20GiB", or "5%" of the free space
    warm: bool = False  # inputs may be in the page cache
    resume: bool = False
    into: Path | None = None  # directory of the tune to continue
    store: Path | None = None
    output: Path | None = None  # second destination of the recipe
    allowed: Allowed = field(default_factory=Allowed)
    rule: StoppingRule = field(default_factory=StoppingRule)
    effort: Effort = NORMAL
    seed: int = 0
    try_all: bool = False  # try also knobs that cannot matter according to the record
    to_the_end: bool = False  # no run ends at a step marker
    mark: NamedMark | None = None  # step marker that ends each run
    after_s: float = 0.0  # earliest time of a step marker
    length_s: float | None = None  # duration of the production run to forecast
    finish: bool = False  # run the answer to its end if trials ended at a step marker
    reference: Path | None = None  # directory with the output of a complete baseline run
    site: bool = False  # only knobs that hold for every program
    advised: tuple[str, ...] = ()  # knobs that the advice on a record names: tried first
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # {NAME} in argv → values
    file_templates: Mapping[str, str] = field(default_factory=dict)  # relative path → text with {NAME}
    options: tuple[str, ...] = ()  # options of the call, as written, for resuming it
    spread: Spread | None = None  # distribution over the jobs of an array; None: sequential runs

    @property
    def baseline_parameters(self) -> dict[str, str]:
        """Return the first value of each parameter, by its name in the command: ``{NAME}``."""
        return {name: values[0] for name, values in self.parameters.items()}

    @property
    def checked_output(self) -> str:
        """Return the method that checks the output, as named in the recipe."""
        learned = "learned" if self.compare_output else "none"
        return "command" if self.check_command else learned


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
    on_slowdown: Callable[[Trial], None] | None = None  # called after a slow run of the original
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
