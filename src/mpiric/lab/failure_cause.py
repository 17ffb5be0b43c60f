"""Cause of failed runs: a failure of a host or the scheduler does not concern the run's settings."""

import os
import time
from pathlib import Path
from typing import Protocol

from mpiric.host.host import Host
from mpiric.model.allocation import Allocation
from mpiric.model.errors import ExitCode, MpiricError
from mpiric.schedulers import NAME_VARIABLE, BatchScheduler, Patience, batch_schedulers, find_allocation

_TAIL_BYTES = 16 << 10
_KILLED_WITHIN_S = 900.0  # maximum time since the job was requeued


class LostAllocationError(MpiricError):
    """A host of the allocation is lost; no further measurement is possible in it."""

    exit_code = ExitCode.NOT_FOUND


class FailureCause(Protocol):
    """Interface for determining the cause of a failed run."""

    def excuse(self, stderr: Path) -> str:
        """Return why the configuration is not the cause, "" if it is. Raises LostAllocationError."""
        ...

    def leave(self) -> None:
        """Clean up after the loss of the allocation."""
        ...


class LocalMachine:
    """The machine mpiric runs on, which never counts as the cause."""

    def excuse(self, stderr: Path) -> str:  # noqa: ARG002
        """Return no excuse."""
        return ""

    def leave(self) -> None:
        """Do nothing."""


class AllocationHosts:
    """The hosts of an allocation, and its scheduler."""

    def __init__(
        self, scheduler: BatchScheduler, host: Host, allocation: Allocation, patience: Patience | None = None
    ) -> None:
        self._scheduler, self._host = scheduler, host
        self._allocation, self._patience = allocation, patience
        self._foreign_steps = scheduler.steps(host, allocation.job)

    def excuse(self, stderr: Path) -> str:
        """Check every host of the allocation; see FailureCause."""
        cause = self._scheduler.why_it_failed(
            self._host, self._allocation, _tail(stderr), self._patience, self._foreign_steps
        )
        if cause.lost_hosts:
            raise LostAllocationError(
                f"allocation {self._allocation.job} has lost {' and '.join(cause.lost_hosts)}",
                hint="measurements are kept: continue with --resume in another allocation",
            )
        return cause.excuse

    def leave(self) -> None:
        """Requeue a job of ``--submit``, so that it restarts on working hosts, and wait for its end."""
        job = self._scheduler.own_job(self._host.environ)
        if self._host.environ.get(NAME_VARIABLE) and self._scheduler.requeue(self._host, job):
            time.sleep(_KILLED_WITHIN_S)


def failure_cause_of(host: Host) -> FailureCause:
    """Return the object that determines the causes of failed trials of this process."""
    try:
        allocation = find_allocation(host)
    except MpiricError:
        return LocalMachine()  # inconsistent allocations are reported elsewhere
    scheduler = batch_schedulers().get(allocation.scheduler)
    return AllocationHosts(scheduler, host, allocation) if scheduler else LocalMachine()


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES), os.SEEK_SET)
            return file.read().decode(errors="replace")
    except OSError:
        return ""
