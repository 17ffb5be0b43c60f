"""Recipe: saved result in a versioned, readable file. It can only set registered knobs."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.evidence import Evidence
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


FORMAT = 2


@dataclass(frozen=True)
class Fingerprint:
    """Machine, MPI library and program that a recipe was made for; compared field by field."""

    machine: Mapping[str, str]  # cpu, cores, numa nodes, memory, ...
    mpi: Mapping[str, str]  # implementation, version, ABI family
    program: Mapping[str, str]  # name, hash of the executable, arguments, ranks, launcher


@dataclass(frozen=True)
class Recipe:
    """Configuration with evidence and fingerprints."""

    name: str
    configuration: Configuration
    fingerprint: Fingerprint
    evidence: Evidence | None
    command: tuple[str, ...]  # the user's command, for information
    created: str  # ISO 8601, UTC
    reasons: Mapping[str, str] = field(default_factory=dict)  # knob → reason why it helps
    checked_output: str = "learned"  # "learned", "command" or "none"
    mpiric_version: str = ""
    scope: str = ""  # "steps" or "forecast" if trials ended at a mark, "" if they were complete runs
    # Check of a complete run of the tuned command; None if all trials were complete.
    whole: WholeCheck | None = None
    marks: ProvedMarks | None = None  # marks that trials ended at
    policy: tuple[str, ...] = ()  # lines of the flat policy for `collectives = "policy"`
    measured_in: str = ""  # "slurm job", "no job"; "" if the recipe does not contain it
    rank_order: tuple[int, ...] = ()  # slot of each rank, for the knob `rank-order`
    parameters: Mapping[str, str] = field(default_factory=dict)  # {NAME} in the command → baseline value
    removed: tuple[str, ...] = ()  # knobs in the file that this version of mpiric no longer has
    format: int = FORMAT
