"""Base of all schedulers: name, and recognition of allocations."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from math import inf

from mpiric.host.host import Host
from mpiric.model.batch import Allocation
from mpiric.model.dataclass import dataclass


class Scheduler:
    """Scheduler. If several recognise an allocation, the one with the lowest ``turn`` is used."""

    name = ""
    turn = 0

    def recognise(self, host: Host) -> Allocation | None:
        """Return the allocation of this process, None outside of allocations of this scheduler.

        Raises MpiricError where the environment is the scheduler's, but contradicts itself.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Patience:
    """Pauses between queries, and the maximum wait for a server that does not answer."""

    first_s: float = 1.0
    longest_s: float = 15.0  # maximum pause; a server has thousands of users
    controller_s: float = 1800.0
    sleep: Callable[[float], None] = field(default_factory=lambda: time.sleep)
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)

    def attempts(self) -> Iterator[None]:
        """Yield once for each attempt, with growing pauses, until the patience ends."""
        began, pause = self.clock(), self.first_s
        while True:
            yield
            if self.clock() - began > self.controller_s:
                return
            self.sleep(pause)
            pause = min(self.longest_s, pause * 2)


ELEMENT_VARIABLE = "MPIRIC_ELEMENT"  # variable in a job: its index in the array, "" outside of an array

# An option in a scheduler's syntax, as in a script, and the field of the request that it sets.
Option = tuple[str, str]


@dataclass(frozen=True)
class JobRequest:
    """Resources of a job; 0 and "" leave the choice to the scheduler."""

    name: str = ""
    account: str = ""
    partition: str = ""  # partition or queue
    time: str = ""  # time limit in the scheduler's syntax
    nodes: int = 0
    ranks: int = 0
    ranks_per_node: int = 0
    cores_per_rank: int = 0
    threads_per_rank: int = 0
    threads_per_core: int = 0  # above 1 if only one of them must be used
    gpus_per_node: int = 0
    hosts: str = ""
    features: str = ""  # node features separated by commas


@dataclass(frozen=True)
class SubmitSettings:
    """Submission of a script: a job or an array of jobs."""

    name: str = ""
    log: str = ""  # file for the scheduler's messages about the job
    mark: str = ""  # unique word that identifies the job if the answer to the submission was lost
    after: str = ""  # job or array that must have ended before, successfully or not
    alone: bool = False  # wait while another job of this name runs, if the scheduler supports it
    elements: int = 0  # number of elements of an array; 0 for a single job
    at_once: int = 0  # elements that may run at the same time; 0: all
    options: tuple[str, ...] = ()  # further options in the scheduler's syntax
    environment: Mapping[str, str | None] = field(default_factory=dict)


# [days-][hours:]minutes:seconds
_CLOCK = re.compile(r"(?:([0-9]{1,9})-)?(?:([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,9})")


def clock_s(text: str) -> float | None:
    """Parse ``1-02:03:04`` or ``03:04`` as seconds; infinite for words such as UNLIMITED, None if invalid."""
    word = text.strip().lower()
    if word in ("unlimited", "infinite", "not_set"):
        return inf
    match = _CLOCK.fullmatch(word)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
