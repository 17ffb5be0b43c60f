"""Resources of a job, independent of a scheduler's syntax."""

from collections.abc import Mapping
from dataclasses import dataclass, field

ELEMENT_VARIABLE = "MPIRIC_ELEMENT"  # set in a job: its index in the array, "" outside of one

# An option in a scheduler's syntax, as in a script, and the field of the request that it sets.
Option = tuple[str, str]


@dataclass(frozen=True)
class JobRequest:
    """Resources of a job; 0 and "" leave the choice to the scheduler."""

    name: str = ""
    account: str = ""
    partition: str = ""  # or queue
    time: str = ""  # time limit in the scheduler's syntax
    nodes: int = 0
    ranks: int = 0
    ranks_per_node: int = 0
    cores_per_rank: int = 0
    threads_per_rank: int = 0
    threads_per_core: int = 0  # above 1 where only one of them is to be used
    gpus_per_node: int = 0
    hosts: str = ""
    features: str = ""  # node features separated by commas


@dataclass(frozen=True)
class SubmitSettings:
    """Submission of a script: a job or an array of jobs."""

    name: str = ""
    log: str = ""  # file for the scheduler's messages about the job
    mark: str = ""  # a word that no other job has: a submission whose answer was lost is found by it
    after: str = ""  # a job or array that must be over first, however it ended
    alone: bool = False  # not while another job of this name runs, where the scheduler can see to that
    elements: int = 0  # number of elements of an array; 0 for a single job
    at_once: int = 0  # elements that may run at the same time; 0: all
    options: tuple[str, ...] = ()  # further ones in the scheduler's syntax
    environment: Mapping[str, str | None] = field(default_factory=dict)
