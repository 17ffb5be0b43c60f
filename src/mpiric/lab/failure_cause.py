"""Why a run failed: if a host or the scheduler did, that says nothing about the run's settings."""

import os
import time
from pathlib import Path
from typing import Protocol

from mpiric.host.host import Host
from mpiric.model.allocation import Allocation
from mpiric.model.errors import ExitCode, MpiricError
from mpiric.schedulers import NAME_VARIABLE, BatchScheduler, Patience, batch_schedulers, find_allocation

_TAIL_BYTES = 16 << 10
_KILLED_WITHIN_S = 900.0  # of having the scheduler begin this job again


class LostAllocationError(MpiricError):
    """A host of the allocation is gone: nothing more can be measured in it."""

    exit_code = ExitCode.NOT_FOUND


class FailureCause(Protocol):
    """Where to look for the cause of a run that failed."""

    def excuse(self, stderr: Path) -> str:
        """Why the failure is not the configuration's, "" when it is. Raises LostAllocationError."""
        ...

    def leave(self) -> None:
        """Do what is to be done when the allocation is lost."""
        ...


class LocalMachine:
    """The machine mpiric runs on, which is to blame for nothing."""

    def excuse(self, stderr: Path) -> str:  # noqa: ARG002
        """Find no excuse."""
        return ""

    def leave(self) -> None:
        """Do nothing."""


class AllocationHosts:
    """The hosts of an allocation, and its scheduler, which is waited for."""

    def __init__(
        self, scheduler: BatchScheduler, host: Host, allocation: Allocation, patience: Patience | None = None
    ) -> None:
        self._scheduler, self._host = scheduler, host
        self._allocation, self._patience = allocation, patience
        self._foreign_steps = scheduler.steps(host, allocation.job)

    def excuse(self, stderr: Path) -> str:
        """Look at every host of the allocation; see FailureCause."""
        cause = self._scheduler.why_it_failed(
            self._host, self._allocation, _tail(stderr), self._patience, self._foreign_steps
        )
        if cause.lost_hosts:
            raise LostAllocationError(
                f"allocation {self._allocation.job} has lost {' and '.join(cause.lost_hosts)}",
                hint="what was measured is kept: go on with --resume in another allocation",
            )
        return cause.excuse

    def leave(self) -> None:
        """Leave a job of ``--submit``: have it begun again, on hosts that are there; wait to be ended."""
        job = self._scheduler.own_job(self._host.environ)
        if self._host.environ.get(NAME_VARIABLE) and self._scheduler.requeue(self._host, job):
            time.sleep(_KILLED_WITHIN_S)


def failure_cause_of(host: Host) -> FailureCause:
    """Where to look for the causes of failures of this process's trials."""
    try:
        allocation = find_allocation(host)
    except MpiricError:
        return LocalMachine()  # an allocation that contradicts itself is reported where it matters
    scheduler = batch_schedulers().get(allocation.scheduler)
    return AllocationHosts(scheduler, host, allocation) if scheduler else LocalMachine()


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES), os.SEEK_SET)
            return file.read().decode(errors="replace")
    except OSError:
        return ""
