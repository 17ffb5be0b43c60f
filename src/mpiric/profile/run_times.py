"""What the time of one recorded run went into, part by part."""

from mpiric.model.profile import Profile
from mpiric.model.record import Record
from mpiric.model.symptom import RunTimes
from mpiric.profile.cells import counted, mpi_s, threads_in_mpi
from mpiric.profile.ranks import fact
from mpiric.profile.waiting import Waiting


def run_times(record: Record, profile: Profile, run_s: float, end_s: float | None = None) -> RunTimes:
    """Seconds of the mean rank; the parts add up to ``run_s``, the whole run with its launcher.

    A rank that ended before the slowest is taken to have waited for it. ``end_s``: what comes after
    MPI_Finalize, where that is known; otherwise it counts as start-up.
    """
    count = max(1, len(record.ranks))
    waiting = Waiting(record)
    inside_s = sum(rank.wall_s for rank in record.ranks) / count
    in_mpi_s = sum(map(mpi_s, record.ranks)) / count
    waited_s = sum(
        sum(waiting.waited_s(rank, cell) for cell in counted(rank)) / threads_in_mpi(rank)
        for rank in record.ranks
    )
    waited_s = min(in_mpi_s, waited_s / count)
    left_s = max(0.0, inside_s - in_mpi_s)
    files_s = min(left_s, sum(rank.io_s for rank in profile.ranks) / count)
    system_s = sum(fact(rank, "time.system_us") for rank in record.ranks) / 1e6 / count
    kernel_s = min(left_s - files_s, system_s)
    outside_s = max(0.0, run_s - profile.wall_s)
    after_s = min(outside_s, end_s) if end_s is not None else None
    return RunTimes(
        start_s=outside_s - (after_s or 0.0),
        computing_s=left_s - files_s - kernel_s,
        waiting_s=waited_s + max(0.0, profile.wall_s - inside_s),
        moving_s=in_mpi_s - waited_s,
        kernel_s=kernel_s,
        files_s=files_s,
        end_s=after_s,
    )
