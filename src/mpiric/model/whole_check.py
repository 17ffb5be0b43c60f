"""Check of a complete run of the tuned command, for tunes whose trials ended at a mark."""

from enum import Enum

from mpiric.model.dataclass import dataclass
from mpiric.model.marks import MarkPair


class WholeVerdict(str, Enum):
    """Result of the check of a complete run."""

    NOT_RUN = "not run"
    # Exited with status 0 and printed no NaN; no reference to compare with.
    NO_REFERENCE = "ran, no reference"
    AGREES = "agrees"  # agrees with a complete run of the original
    DIFFERS = "differs"  # differs from the original, or failed: the recipe is not applied again


@dataclass(frozen=True)
class WholeCheck:
    """Verdict, and its reason in one sentence."""

    verdict: WholeVerdict = WholeVerdict.NOT_RUN
    why: str = ""


@dataclass(frozen=True)
class ProvedMarks:
    """Marks of the proof of a recipe, for comparison with complete runs; times as (original, tuned)."""

    pair: MarkPair
    start_s: tuple[float, float]
    per_mark_s: tuple[float, float]
    prints_nan: bool = False  # the original prints NaN before the last mark, so that NaN is not an error
    inputs: tuple[str, ...] = ()  # files that ranks read, by paths below the working directory
