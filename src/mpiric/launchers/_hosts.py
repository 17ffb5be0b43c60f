"""Hosts and their slots in lists on the command line and in files, in a launcher's format."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mpiric.launchers._dialect import Dialect, Facet
from mpiric.launchers._host_format import HostFormat
from mpiric.launchers._registry import dialects
from mpiric.model.job import HostSlots, Job, Meaning, Segment
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

Hosts = tuple[HostSlots, ...]


def read_host_file(form: HostFormat, text: str) -> Hosts:
    """Every host once, in the order of the file; lines that name it again add to it.

    Raises MpiricError for a host list that cannot be read.
    """
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return _joined((entry for line in lines if line for entry in form.line(line)), form)


def write_host_file(form: HostFormat, hosts: Iterable[HostSlots]) -> str:
    """The text of a host file, one line a host."""
    return "".join(f"{form.write_line(host)}\n" for host in hosts)


def read_hosts(form: HostFormat | None, segment: Segment, files: Mapping[str, str]) -> Hosts:
    """The hosts that a segment names, by option or in a file read before; empty when it names none."""
    named, file = segment.first(Meaning.HOSTS), segment.first(Meaning.HOSTFILE)
    if form is not None and named is not None and named.values:
        return _joined(form.listed(named.values[0]), form)
    if form is not None and file is not None and file.values:
        return read_host_file(form, files.get(file.values[0], ""))
    return ()


def _joined(entries: Iterable[HostSlots], form: HostFormat) -> Hosts:
    found: dict[str, HostSlots] = {}
    for entry in entries:
        known = found.get(entry.name)
        again = (known.slots or 1) + (entry.slots or 1) if known else entry.slots or int(form.fills)
        found[entry.name] = replace(entry, slots=again)
    return tuple(found.values())


def seated(hosts: Hosts, ranks: int) -> tuple[str, ...]:
    """The host of every rank: slots are filled in order, and again when none is left."""
    once = [host.name for host in hosts for _ in range(max(1, host.slots))]
    return tuple(once[rank % len(once)] for rank in range(ranks))


def counted(seats: Sequence[str]) -> Hosts:
    """Hosts with the ranks they got, in the order of their first rank."""
    return tuple(HostSlots(name, seats.count(name)) for name in dict.fromkeys(seats))


def in_blocks(seats: Sequence[str]) -> bool:
    """Whether a host has all its ranks one after the other, every host as many; the last may have fewer."""
    hosts = counted(seats)
    return (
        _is_filled(hosts, seats)
        and len({host.slots for host in hosts[:-1]}) <= 1
        and hosts[-1].slots <= hosts[0].slots
    )


def host_facets(target: Dialect, hosts: Hosts, seats: Sequence[str]) -> tuple[Facet, ...] | None:
    """Facets under which every rank of another launcher has the host it had; None where it has no syntax.

    ``hosts`` as named, ``seats`` the host of each rank.
    """
    form, given = target.hosts, counted(seats)
    if form is not None and form.has_slots and _is_filled(given, seats):
        return ((Meaning.HOSTS, (",".join(map(form.write, given)),)),)
    names = ",".join(host.name for host in hosts if host.name in seats)
    nodes: tuple[Facet, ...] = ((Meaning.NODES, (str(len(given)),)),) if Meaning.NODES in target.write else ()
    if in_blocks(seats):
        return (*nodes, (Meaning.HOSTS, (names,)), (Meaning.RANKS_PER_NODE, (str(given[0].slots),)))
    if target.every_seat:  # takes the host of every rank
        return (*nodes, (Meaning.HOSTS, (",".join(seats),)), (Meaning.MAPPING, (target.every_seat,)))
    return None


def _is_filled(hosts: Hosts, seats: Sequence[str]) -> bool:
    """Whether the hosts one after the other give the seats."""
    return tuple(host.name for host in hosts for _ in range(host.slots)) == tuple(seats)


def named_hosts(job: Job) -> Hosts:
    """Every host of the command line with its slots, segments together; empty when it names none."""
    found: dict[str, int] = {}
    for segment in job.segments:
        for host in read_hosts(dialects()[job.dialect].hosts, segment, job.host_files):
            found[host.name] = found.get(host.name, 0) + host.slots
    return tuple(HostSlots(name, slots) for name, slots in found.items())


def names_speller(situation: Situation, value: str) -> Spelling | None:
    """The hosts by their names on another network, in place of list and file."""
    job, names = situation.job, situation.host_names.others.get(value)
    dialect = dialects()[job.dialect]
    hosts = [replace(host, name=names.get(host.name, "")) for host in named_hosts(job)] if names else []
    if not hosts or not dialect.hosts or not all(host.name for host in hosts) or len(job.segments) > 1:
        return None
    words = dialect.write[Meaning.HOSTS]((",".join(map(dialect.hosts.write, hosts)),))
    return Spelling(options=(words,)) if words else None
