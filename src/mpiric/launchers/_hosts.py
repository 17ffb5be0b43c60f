"""Hosts and their slots in command-line lists and in files, in the format of a launcher."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mpiric.launchers._dialect import Dialect, Facet, HostFormat, dialects
from mpiric.model.job import HostSlots, Job, Meaning, Segment, Spelling
from mpiric.model.situation import Situation

Hosts = tuple[HostSlots, ...]


def read_host_file(form: HostFormat, text: str) -> Hosts:
    """Return each host once, in the order of the file; the slots of repeated lines are added.

    Raises MpiricError for a host list that cannot be read.
    """
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return _joined((entry for line in lines if line for entry in form.line(line)), form)


def write_host_file(form: HostFormat, hosts: Iterable[HostSlots]) -> str:
    """Return the text of a host file with one line per host."""
    return "".join(f"{form.write_line(host)}\n" for host in hosts)


def read_hosts(form: HostFormat | None, segment: Segment, files: Mapping[str, str]) -> Hosts:
    """Return the hosts of a segment, from its option or from a file that was read before; empty if none."""
    list_option, file_option = segment.first(Meaning.HOSTS), segment.first(Meaning.HOSTFILE)
    if form is not None and list_option is not None and list_option.values:
        return _joined(form.listed(list_option.values[0]), form)
    if form is not None and file_option is not None and file_option.values:
        return read_host_file(form, files.get(file_option.values[0], ""))
    return ()


def _joined(entries: Iterable[HostSlots], form: HostFormat) -> Hosts:
    hosts: dict[str, HostSlots] = {}
    for entry in entries:
        previous = hosts.get(entry.name)
        slots = (previous.slots or 1) + (entry.slots or 1) if previous else entry.slots or int(form.fills)
        hosts[entry.name] = replace(entry, slots=slots)
    return tuple(hosts.values())


def seated(hosts: Hosts, ranks: int) -> tuple[str, ...]:
    """Return the host of each rank: slots are filled in order, and again if none is free."""
    slots = [host.name for host in hosts for _ in range(max(1, host.slots))]
    return tuple(slots[rank % len(slots)] for rank in range(ranks))


def counted(seats: Sequence[str]) -> Hosts:
    """Return hosts with the number of their ranks, in the order of their first rank."""
    return tuple(HostSlots(name, seats.count(name)) for name in dict.fromkeys(seats))


def host_facets(target: Dialect, hosts: Hosts, seats: Sequence[str]) -> tuple[Facet, ...] | None:
    """Return facets that give each rank the same host under another launcher; None without a syntax for it.

    ``hosts`` are the hosts as named, ``seats`` the host of each rank.
    """
    form, counts = target.hosts, counted(seats)
    if form is not None and form.has_slots and _is_filled(counts, seats):
        return ((Meaning.HOSTS, (",".join(map(form.write, counts)),)),)
    names = ",".join(host.name for host in hosts if host.name in seats)
    nodes: tuple[Facet, ...] = (
        ((Meaning.NODES, (str(len(counts)),)),) if Meaning.NODES in target.write else ()
    )
    # Whether ranks are placed host by host in equal blocks; the last block may be smaller.
    hosts = counted(seats)
    if (
        _is_filled(hosts, seats)
        and len({host.slots for host in hosts[:-1]}) <= 1
        and hosts[-1].slots <= hosts[0].slots
    ):
        return (*nodes, (Meaning.HOSTS, (names,)), (Meaning.RANKS_PER_NODE, (str(counts[0].slots),)))
    if target.every_seat:  # the list names the host of each rank
        return (*nodes, (Meaning.HOSTS, (",".join(seats),)), (Meaning.MAPPING, (target.every_seat,)))
    return None


def _is_filled(hosts: Hosts, seats: Sequence[str]) -> bool:
    """Return whether filling the hosts one after the other results in the seats."""
    return tuple(host.name for host in hosts for _ in range(host.slots)) == tuple(seats)


def named_hosts(job: Job) -> Hosts:
    """Return each host of the command line with its slots over all segments; empty if none is named."""
    slots_by_host: dict[str, int] = {}
    for segment in job.segments:
        for host in read_hosts(dialects()[job.dialect].hosts, segment, job.host_files):
            slots_by_host[host.name] = slots_by_host.get(host.name, 0) + host.slots
    return tuple(HostSlots(name, slots) for name, slots in slots_by_host.items())


def names_speller(situation: Situation, value: str) -> Spelling | None:
    """Write the hosts by their names on another network, instead of list and file."""
    job, names = situation.job, situation.host_names.names_by_interface.get(value)
    dialect = dialects()[job.dialect]
    hosts = [replace(host, name=names.get(host.name, "")) for host in named_hosts(job)] if names else []
    if not hosts or not dialect.hosts or not all(host.name for host in hosts) or len(job.segments) > 1:
        return None
    option = dialect.write[Meaning.HOSTS]((",".join(map(dialect.hosts.write, hosts)),))
    return Spelling(options=(option,)) if option else None
