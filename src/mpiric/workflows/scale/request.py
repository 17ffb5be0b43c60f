"""Options of a scaling study."""

from collections.abc import Mapping
from pathlib import Path

from mpiric.model.dataclass import dataclass
from mpiric.tuning.mark_choice import NamedMark


@dataclass(frozen=True)
class ScaleRequest:
    """The options of `mpiric scale`; ``argv`` is the user's launch line."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    stdin: str = ""
    ranks: tuple[int, ...] = ()  # empty: chosen, or from ``nodes``
    nodes: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()  # threads per rank; empty: as in the command
    weak: bool = False  # the command contains {ranks}, {nodes} or {threads}
    predict: tuple[int, ...] = ()  # numbers of ranks that are not run
    efficiency: float = 0.7
    within_s: float | None = None  # deadline of the whole run
    length_s: float | None = None  # duration of the whole run with the user's number of ranks
    mark: NamedMark | None = None
    to_the_end: bool = False
    check_command: str = ""
    budget_s: float = 600.0
    in_place: bool = False
    output: Path | None = None  # file for a recipe with the recommended size
    store: Path | None = None
    resume: bool = False
    into: Path | None = None  # directory of the log, in a submitted job
