"""TuneRequest: what the user asks of a tune."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mpiric.model.batch import Spread
from mpiric.model.situation import Allowed
from mpiric.plans.effort import NORMAL, Effort
from mpiric.tuning.marks.named import NamedMark
from mpiric.tuning.objective import Objective
from mpiric.tuning.proof.stopping_rule import StoppingRule


@dataclass(frozen=True)
class TuneRequest:
    """The options of `mpiric tune`; ``argv`` is the user's launch line."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    stdin: str = ""  # path of what was piped in
    budget_s: float = 600.0
    begun_s: float | None = None  # when the command was started, by time.monotonic(); None: just now
    max_runs: int | None = None
    only: tuple[str, ...] = ()  # knobs or families
    without: tuple[str, ...] = ()
    objective: Objective = field(default_factory=Objective)
    check_command: str = ""
    compare_output: bool = True
    ignore_lines: str = ""  # regular expression of lines that are not results
    in_place: bool = False
    io_budget: str = ""  # bytes that all runs may write: "20GiB", or "5%" of what quota or disk leave
    warm: bool = False  # inputs may be in the page cache
    resume: bool = False
    into: Path | None = None  # the tune to go on with, which may have only just been made
    store: Path | None = None
    output: Path | None = None  # where the recipe goes as well
    allowed: Allowed = field(default_factory=Allowed)
    rule: StoppingRule = field(default_factory=StoppingRule)
    effort: Effort = NORMAL
    seed: int = 0
    try_all: bool = False  # also what cannot matter to the program as it was recorded
    to_the_end: bool = False  # no run ends at a mark
    mark: NamedMark | None = None  # at which runs end, however short they are
    after_s: float = 0.0  # no mark before this time of a run
    length_s: float | None = None  # of the run that is forecast from marks
    finish: bool = False  # run the answer to its end, where trials ended at a mark
    reference: Path | None = None  # what a whole run of the original has left, to compare that with
    site: bool = False  # only knobs that hold for every program
    advised: tuple[str, ...] = ()  # knobs that the advice on a record names: tried first
    options: tuple[str, ...] = ()  # options of the call, as written, for resuming it
    spread: Spread | None = None  # of runs over jobs of an array; None for one after the other here

    @property
    def checked_output(self) -> str:
        """What checks the output, as the recipe names it."""
        learned = "learned" if self.compare_output else "none"
        return "command" if self.check_command else learned
