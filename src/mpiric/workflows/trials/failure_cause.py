"""What trials stand on: a run that failed because a host or Slurm did says nothing about its settings."""

import os
import time
from pathlib import Path
from typing import Protocol

from mpiric.host.host import Host
from mpiric.model.allocation import Allocation
from mpiric.model.errors import ExitCode, MpiricError
from mpiric.schedulers import _slurm_jobs as jobs
from mpiric.schedulers import find_allocation
from mpiric.schedulers._slurm_submission import NAME_VARIABLE
from mpiric.schedulers._slurm_words import blames_slurm

_TAIL_BYTES = 16 << 10
_PROMPT_S = 10.0  # a step of nothing takes less, also on many nodes
_KILLED_WITHIN_S = 900.0  # of asking Slurm to begin this job again


class LostAllocationError(MpiricError):
    """A host of the allocation is gone: nothing more can be measured in it."""

    exit_code = ExitCode.NOT_FOUND


class FailureCause(Protocol):
    """Asked after each run that failed."""

    def excuse(self, stderr: Path) -> str:
        """Why the failure is not the configuration's, "" when it is. Raises LostAllocationError."""
        ...

    def leave(self) -> None:
        """What is to be done when it is lost."""
        ...


class LocalMachine:
    """The machine itself: as long as mpiric runs on it, it is there."""

    def excuse(self, stderr: Path) -> str:  # noqa: ARG002
        """None."""
        return ""

    def leave(self) -> None:
        """Nothing."""


class SlurmHosts:
    """The hosts of a Slurm allocation, and its controller, which is waited for."""

    def __init__(self, host: Host, allocation: Allocation, patience: jobs.Patience | None = None) -> None:
        self._host, self._allocation, self._patience = host, allocation, patience

    def excuse(self, stderr: Path) -> str:
        """Look at every host of the allocation; see FailureCause."""
        names = [each.name for each in self._allocation.hosts]
        seen = jobs.footing(self._host, self._allocation.job, names, self._patience)
        if seen.lost:
            raise LostAllocationError(
                f"allocation {self._allocation.job} has lost {' and '.join(seen.lost)}",
                hint="what was measured is kept: go on with --resume in another allocation",
            )
        if seen.waited_s > _PROMPT_S:
            return f"Slurm started no job steps for {seen.waited_s:.0f} s"
        return blames_slurm(_tail(stderr))

    def leave(self) -> None:
        """In a job of ``--submit``: have Slurm begin it again, on hosts that are there; wait to be ended."""
        if self._host.environ.get(NAME_VARIABLE) and jobs.requeue(self._host, self._allocation.job):
            time.sleep(_KILLED_WITHIN_S)


def failure_cause_of(host: Host) -> FailureCause:
    """What this process's trials stand on."""
    try:
        allocation = find_allocation(host)
    except MpiricError:
        return LocalMachine()  # an allocation that contradicts itself is told where it matters
    return SlurmHosts(host, allocation) if allocation.scheduler == "slurm" else LocalMachine()


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES), os.SEEK_SET)
            return file.read().decode(errors="replace")
    except OSError:
        return ""
