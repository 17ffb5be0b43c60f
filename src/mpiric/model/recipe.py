"""Recipe: the saved result. Text, reviewable, versioned; can only set knobs that the registry knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence
from mpiric.model.whole_check import ProvedMarks, WholeCheck

FORMAT = 2


@dataclass(frozen=True)
class Fingerprint:
    """What a recipe was made for; compared field by field, differences named one by one."""

    machine: Mapping[str, str]  # cpu, cores, numa nodes, memory, ...
    mpi: Mapping[str, str]  # implementation, version, ABI family
    program: Mapping[str, str]  # name, hash of the executable, arguments, ranks, launcher


@dataclass(frozen=True)
class Recipe:
    """Configuration + evidence + fingerprints."""

    name: str
    configuration: Configuration
    fingerprint: Fingerprint
    evidence: Evidence | None
    command: tuple[str, ...]  # the user's own, for the reader
    created: str  # ISO 8601, UTC
    reasons: Mapping[str, str] = field(default_factory=dict)  # knob → why it helps
    checked_output: str = "learned"  # "learned", "command" or "none"
    mpiric_version: str = ""
    scope: str = ""  # "steps" or "forecast" where trials ended at a mark, "" where they were whole runs
    whole: WholeCheck | None = None  # of the tuned command run to its end; None where every trial was whole
    marks: ProvedMarks | None = None  # that trials ended at
    policy: tuple[str, ...] = ()  # lines of the flat policy that goes with `collectives = "policy"`
    measured_in: str = ""  # "slurm job", "no job"; "" where the recipe does not say
    rank_order: tuple[int, ...] = ()  # slot of each rank, which goes with the knob `rank-order`
    removed: tuple[str, ...] = ()  # knobs that the file sets and that this mpiric no longer has
    format: int = FORMAT
