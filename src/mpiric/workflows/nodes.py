"""On how many nodes a job runs, from its command line and the allocation around it."""

from collections.abc import Iterator
from math import ceil

from mpiric.host.host import Host
from mpiric.model.errors import MpiricError
from mpiric.model.job import Job, Meaning, Segment
from mpiric.schedulers import find_allocation
from mpiric.schedulers._lists import hosts_of


def node_count(job: Job, host: Host) -> int:
    """Nodes that get a rank, as launchers fill them: slots in order, around again when they are used up."""
    hosts = _named_hosts(job, host) or _allocated(host, job)
    said = _number(job, Meaning.NODES)
    per_node = _number(job, Meaning.RANKS_PER_NODE)
    if said:
        return min(said, len(hosts)) if len(hosts) > 1 else said
    if len(hosts) <= 1 or not job.ranks:
        return max(1, len(hosts))
    if job.dialect == "srun" and not per_node:  # takes every host that gets a rank
        return min(len(hosts), job.ranks)
    slots = [per_node or number for _, number in hosts]
    filled = next((at for at in range(1, len(slots) + 1) if sum(slots[:at]) >= job.ranks), len(slots))
    return filled if per_node == 0 else min(len(hosts), ceil(job.ranks / per_node))


def _number(job: Job, meaning: Meaning) -> int:
    options = [option for segment in job.segments if (option := segment.first(meaning))]
    text = options[0].values[0].split("-")[-1] if options and options[0].values else ""
    return int(text) if text.isdigit() else 0


def _named_hosts(job: Job, host: Host) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for segment in job.segments:
        for name, slots in _of_segment(segment, job, host):
            found[name] = found.get(name, 0) + slots
    return list(found.items())


def _of_segment(segment: Segment, job: Job, host: Host) -> Iterator[tuple[str, int]]:
    hosts = segment.first(Meaning.HOSTS)
    if hosts is not None and hosts.values and job.dialect == "srun":
        yield from ((name, 1) for name in hosts_of(hosts.values[0]))
    elif hosts is not None and hosts.values:
        yield from (_entry(word) for word in hosts.values[0].split(",") if word)
    file = segment.first(Meaning.HOSTFILE)
    if hosts is None and file is not None and file.values:
        path = (
            file.values[0] if file.values[0].startswith("/") else f"{job.working_directory}/{file.values[0]}"
        )
        for line in (host.read_text(path) or "").splitlines():
            words = line.partition("#")[0].split()
            if words:
                count = next((w.partition("=")[2] for w in words[1:] if w.startswith("slots=")), "")
                name, slots = _entry(words[0])
                yield name, int(count) if count.isdigit() else slots


def _entry(word: str) -> tuple[str, int]:
    name, _, slots = word.partition(":")
    return name, int(slots) if slots.isdigit() else 1


def _allocated(host: Host, job: Job) -> list[tuple[str, int]]:
    if not job.launcher_words:
        return []
    try:
        return [(each.name, max(1, each.slots)) for each in find_allocation(host).hosts]
    except MpiricError:
        return []  # an allocation that contradicts itself is told where it matters
