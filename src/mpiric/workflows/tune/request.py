"""TuneRequest: the options of a tune."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from mpiric.model.batch import Spread
from mpiric.model.dataclass import dataclass
from mpiric.model.situation import Allowed
from mpiric.plans.effort import NORMAL, Effort
from mpiric.statistics.stopping_rule import StoppingRule
from mpiric.tuning.marks.named import NamedMark
from mpiric.tuning.objective import Objective


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
    options: tuple[str, ...] = ()  # options of the call, as written, for resuming it
    spread: Spread | None = None  # distribution over the jobs of an array; None: sequential runs

    @property
    def checked_output(self) -> str:
        """Return the method that checks the output, as named in the recipe."""
        learned = "learned" if self.compare_output else "none"
        return "command" if self.check_command else learned
