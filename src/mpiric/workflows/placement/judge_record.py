"""Findings on the placement of a completed run, from its record."""

from collections.abc import Iterator

from mpiric.model.finding import Finding
from mpiric.model.machine import Machine
from mpiric.model.placement import ProcessSeen, ThreadSeen
from mpiric.model.pu_set import parse_pu_list
from mpiric.model.record import RankRecord, Record
from mpiric.placement.verification import judge
from mpiric.profile.ranks import fact
from mpiric.profile.tables import threads_of
from mpiric.workflows.placement.verify import node_of

_FULL = 0.9  # share of the available memory


def judge_record(record: Record, machine: Machine) -> Iterator[Finding]:
    """Return findings on the placement and the memory of this node's ranks.

    Ranks of other nodes are ignored, because their machine is unknown.
    """
    of_node = [rank for rank in record.ranks if rank.facts.get("host") == machine.host_name]
    if of_node:
        yield from judge(node_of(machine), [_process(rank) for rank in of_node])
        yield from _of_memory(of_node, machine)


def _of_memory(ranks: list[RankRecord], machine: Machine) -> Iterator[Finding]:
    memory = machine.memory
    room = min(memory.limit_bytes or memory.total_bytes, memory.total_bytes)
    peak_bytes = sum(fact(rank, "memory.peak_kib") << 10 for rank in ranks)
    if room and peak_bytes > _FULL * room:
        yield Finding(
            "memory-nearly-full",
            "The ranks nearly fill the memory: a little more and they are killed or swapped out.",
            f"peaks of {len(ranks)} ranks add up to {peak_bytes / 2**30:.1f} of {room / 2**30:.1f} GiB",
            "start fewer ranks a node, or raise the limit (docker --memory, sbatch --mem)",
        )


def _process(rank: RankRecord) -> ProcessSeen:
    allowed = parse_pu_list(rank.facts.get("affinity", ""))
    threads = tuple(
        ThreadSeen(
            thread.number, thread.name, parse_pu_list(thread.affinity) or allowed, thread.cpu, thread.cpu_s
        )
        for thread in threads_of(rank)
    )
    return ProcessSeen(
        pid=fact(rank, "process"),
        rank=rank.rank,
        program=rank.facts.get("executable", ""),
        threads=threads or (ThreadSeen(0, "", allowed, fact(rank, "cpu"), 0.0),),
        cpus_allowed=allowed,
        job="profiled",
    )
