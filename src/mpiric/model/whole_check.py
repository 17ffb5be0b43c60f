"""WholeCheck: what is known of the tuned command run to its end, where trials ended at a mark."""

from dataclasses import dataclass
from enum import Enum

from mpiric.model.marks import MarkPair


class WholeVerdict(str, Enum):
    """What a recipe says of its whole run."""

    NOT_RUN = "not run"
    NO_REFERENCE = "ran, no reference"  # it ended well and printed no NaN; there was nothing to compare with
    AGREES = "agrees"  # with a whole run of the original
    DIFFERS = "differs"  # from it, or it failed: the recipe is not applied again


@dataclass(frozen=True)
class WholeCheck:
    """A verdict, and why in one sentence."""

    verdict: WholeVerdict = WholeVerdict.NOT_RUN
    why: str = ""


@dataclass(frozen=True)
class ProvedMarks:
    """Marks that a recipe was proved at: what a whole run is held against. (original, tuned) in seconds."""

    pair: MarkPair
    start_s: tuple[float, float]
    per_mark_s: tuple[float, float]
    prints_nan: bool = False  # the original does so before the last mark: then it is no sign of anything
    inputs: tuple[str, ...] = ()  # files that ranks read, by their paths below the working directory
