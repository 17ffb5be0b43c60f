"""Placement of the ranks of a running job as text."""

from collections.abc import Sequence

from mpiric.model.finding import Finding
from mpiric.model.placement import ProcessSeen
from mpiric.model.pu_set import pu_list


def verdict_text(processes: Sequence[ProcessSeen], findings: Sequence[Finding]) -> str:
    """Return a line per rank under its job, its threads where they differ, then the findings."""
    lines: list[str] = []
    job = None
    for process in processes:
        if process.job != job:
            job = process.job
            lines.append(f"{job or 'process'}: {process.program.rsplit('/', 1)[-1]}")
        label = f"rank {process.rank}" if process.rank is not None else "process"
        lines.append(
            f"  {label:<9} pid {process.pid:<8} hardware threads {pu_list(process.cpus_allowed):<14} "
            f"{len(process.threads)} thread{'s' if len(process.threads) > 1 else ''}{_memory(process)}"
        )
        lines += [
            f"    thread {thread.thread} ({thread.name}) on {pu_list(thread.cpus_allowed)}, "
            f"{thread.cpu_s:.2f} s"
            for thread in process.threads
            if thread.cpus_allowed != process.cpus_allowed
        ]
    if not findings:
        lines.append(
            "the placement has no faults"
            if processes
            else "no MPI job that you may inspect runs on this node"
        )
    for finding in findings:
        lines += [f"! {finding.says}", f"    {finding.evidence}", f"    fix: {finding.fix}"]
    return "\n".join(lines)


def _memory(process: ProcessSeen) -> str:
    total = sum(process.memory_pages.values())
    if not total or len(process.memory_pages) < 2:
        return ""
    shares = ", ".join(f"{node}: {pages / total:.0%}" for node, pages in sorted(process.memory_pages.items()))
    return f"  memory on NUMA {shares}"
