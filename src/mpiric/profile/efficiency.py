"""Efficiencies of the POP model (POP Centre of Excellence, "Standard Metrics for Performance Audits").

    parallel      = mean useful time / run time        = load_balance × communication
    load_balance  = mean useful time / longest useful time
    communication = longest useful time / run time     = serialisation × transfer
    transfer      = run time on an ideal network / run time
    serialisation = longest useful time / run time on an ideal network

Useful is what a rank spends outside MPI. POP finds the ideal run time by replaying a trace; a record has
none, so that the run time less the mean transfer time of the ranks stands for it, as `waiting` tells that.
"""

from mpiric.model.profile import Efficiencies
from mpiric.model.record import RankRecord, Record
from mpiric.profile.cells import counted, mpi_s, threads_in_mpi
from mpiric.profile.waiting import Waiting


def efficiencies(record: Record, waiting: Waiting) -> Efficiencies:
    """Efficiencies of the ranks that recorded a time; all 1 when none did."""
    timed = [rank for rank in record.ranks if rank.wall_s > 0]
    run_s = max((rank.wall_s for rank in timed), default=0.0)
    useful = [max(0.0, rank.wall_s - mpi_s(rank)) for rank in timed]
    if not run_s:
        return Efficiencies(1.0, 1.0, 1.0, 1.0, 1.0, waiting.method)
    mean, longest = sum(useful) / len(useful), max(useful)
    transfer_s = sum(_transfer_s(rank, waiting) for rank in timed) / len(timed)
    ideal_s = min(run_s, max(longest, run_s - transfer_s))
    return Efficiencies(
        parallel=mean / run_s,
        load_balance=mean / longest if longest else 1.0,
        communication=longest / run_s,
        serialisation=longest / ideal_s if ideal_s else 1.0,
        transfer=ideal_s / run_s,
        method=waiting.method,
    )


def _transfer_s(rank: RankRecord, waiting: Waiting) -> float:
    moved_s = sum(
        max(0.0, cell.time_s + cell.waited_s - waiting.waited_s(rank, cell)) for cell in counted(rank)
    )
    return moved_s / threads_in_mpi(rank)
