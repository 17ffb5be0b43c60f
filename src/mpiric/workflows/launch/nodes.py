"""Nodes of a job, from its command line and its allocation."""

from dataclasses import replace
from math import ceil

from mpiric import launchers
from mpiric.host.host import Host
from mpiric.model.errors import MpiricError
from mpiric.model.job import Job, Meaning
from mpiric.model.numbers_in_text import count_of
from mpiric.schedulers import find_allocation


def node_count(job: Job, host: Host) -> int:
    """Return the number of nodes with ranks: launchers fill slots in order, repeatedly if necessary."""
    hosts = [
        (host_entry.name, max(1, host_entry.slots)) for host_entry in launchers.named_hosts(job)
    ] or _allocated(host, job)
    nodes = stated(job, Meaning.NODES)
    per_node = stated(job, Meaning.RANKS_PER_NODE)
    if nodes:
        return min(nodes, len(hosts)) if len(hosts) > 1 else nodes
    if len(hosts) <= 1 or not job.ranks:
        return max(1, len(hosts))
    if launchers.dialects()[job.dialect].fills_every_host and not per_node:
        return min(len(hosts), job.ranks)
    slots = [per_node or number for _, number in hosts]
    filled = next((at for at in range(1, len(slots) + 1) if sum(slots[:at]) >= job.ranks), len(slots))
    return filled if per_node == 0 else min(len(hosts), ceil(job.ranks / per_node))


def stated(job: Job, meaning: Meaning) -> int:
    """Return the number on the launch line for a meaning, 0 without one; the last number of a range."""
    options = [option for segment in job.segments if (option := segment.first(meaning))]
    text = options[0].values[0].split("-")[-1] if options and options[0].values else ""
    return count_of(text)


def _allocated(host: Host, job: Job) -> list[tuple[str, int]]:
    if not job.launcher_words:
        return []
    try:
        return [(host_entry.name, max(1, host_entry.slots)) for host_entry in find_allocation(host).hosts]
    except MpiricError:
        return []  # inconsistent allocations are reported elsewhere


def with_host_files(job: Job, host: Host) -> Job:
    """Return the job with the content of its host files; the launcher reports unreadable ones."""
    options = [option for segment in job.segments if (option := segment.first(Meaning.HOSTFILE))]
    paths = [option.values[0] for option in options if option.values]
    texts = {
        path: host.read_text(path if path.startswith("/") else f"{job.working_directory}/{path}")
        for path in paths
    }
    return replace(job, host_files={path: text for path, text in texts.items() if text is not None})
