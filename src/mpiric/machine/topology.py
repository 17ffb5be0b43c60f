"""The topology of this machine, of a file, or of a synthetic description."""

from dataclasses import replace
from math import prod
from re import findall, sub

from mpiric.host.facts.globbing import matching
from mpiric.host.facts.hwloc import HwlocDiedError, redirections
from mpiric.host.files import exists, why_unreadable
from mpiric.host.host import Host
from mpiric.host.installation.prefixes import homes
from mpiric.machine.topology_sysfs import read_sysfs_topology
from mpiric.machine.topology_xml import MOST_PUS, check_topology, read_topology
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.machine import Topology


def topology_of(host: Host) -> Topology:
    """Topology by hwloc, or by the kernel's own files where no libhwloc can be loaded."""
    xml = _exported(
        host, "", ", ".join(f"{name}={host.environ[name]}" for name in redirections(host.environ))
    )
    return read_topology(xml) if xml else read_sysfs_topology(host)


def load_topology(host: Host, source: str) -> Topology:
    """Topology of another machine, from an XML file of hwloc or a synthetic description (``pack:2 core:4``).

    Raises MpiricError when it is neither, NotFoundError for a file that is not there or when a libhwloc
    would be needed and there is none.
    """
    text = host.read_text(source)
    if text is None and (source.endswith(".xml") or "/" in source or exists(source)):
        raise why_unreadable(source, "topology file", hint="export one by `lstopo FILE.xml`")
    described = _from_file(text, source) if text is not None else _with_pus(source)
    if xml := _exported(host, described, source):
        # The devices of a file are lost where libhwloc reads and writes it: they are in the text itself.
        return replace(read_topology(xml), xml=described if described.lstrip().startswith("<") else xml)
    if text is not None:
        return read_topology(text)
    if not _exported(host, "core:1 pu:1", source):
        raise NotFoundError(
            "a synthetic topology needs libhwloc, which is not installed",
            hint="sudo apt install libhwloc15, or mpiric mpi install openmpi",
        )
    raise MpiricError(
        f"hwloc does not understand the topology {source!r}",
        hint="give an XML file, or a description such as 'pack:2 numa:4 l3:4 core:4 pu:2'",
    )


def _exported(host: Host, description: str, name: str) -> str | None:
    """XML by libhwloc. Raises MpiricError with the name of a description that it crashes over."""
    try:
        return host.topology_xml(description, hwloc_libraries(host))
    except HwlocDiedError as error:
        raise MpiricError(
            f"the topology {name[:200]} cannot be read: {error}", hint="export it again by `lstopo FILE.xml`"
        ) from error


def _from_file(text: str, path: str) -> str:
    """XML that libhwloc accepts, or a synthetic description."""
    if not text.strip():  # to libhwloc it would stand for this machine
        raise MpiricError(f"the topology file {path} is empty", hint="export one by `lstopo FILE.xml`")
    if text.lstrip().startswith("<"):
        check_topology(text)
        return text
    return _with_pus(text)


def _with_pus(description: str) -> str:
    """The description with the hardware threads that hwloc requires: one a core where it names none.

    Raises MpiricError for more of them than a machine has: libhwloc would count for minutes.
    """
    numbers = findall(r"(?:^|[\s:])(\d+)", sub(r"\([^)]*\)|\[[^]]*\]", " ", description))
    if prod(min(int(number), MOST_PUS + 1) for number in numbers) > MOST_PUS:
        raise MpiricError(
            f"the topology {description[:80]!r} has more than {MOST_PUS} hardware threads",
            hint="Linux runs on no such machine: describe one node",
        )
    last = (description.replace("[", " ").split() or [""])[-1]
    named = ":" in last and not last[0].isdigit()
    return description if not named or last.lower().startswith("pu:") else f"{description} pu:1"


def hwloc_libraries(host: Host) -> tuple[str, ...]:
    """Where a libhwloc may be beside the system's: inside the Open MPI prefixes that mpiric installed."""
    return tuple(
        path
        for home in homes(host.environ)
        for path in matching(host, f"{home}/openmpi*/lib/openmpi/libhwloc.so.15")
    )
