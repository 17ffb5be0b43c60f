"""The kernel's description of the topology (/sys/devices/system) → Topology, if hwloc is missing."""

import re
from collections.abc import Mapping

from mpiric.host.host import Host
from mpiric.model.amount import number_of
from mpiric.model.machine import Cache, Core, NumaNode, Topology
from mpiric.model.pu_set import parse_pu_list

_CPUS = "/sys/devices/system/cpu"
_NODES = "/sys/devices/system/node"
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def read_sysfs_topology(host: Host) -> Topology:
    """Return the cores, NUMA nodes and caches of the CPUs that are online."""
    online = parse_pu_list(host.read_text(f"{_CPUS}/online") or "") or _processors(host)
    nodes = _numa_nodes(host, online)
    node_of = {pu: node.index for node in reversed(nodes) for pu in node.pus}
    return Topology(
        cores=_cores(host, online, node_of), numa_nodes=nodes, caches=_caches(host, online), xml=""
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


def _caches(host: Host, online: tuple[int, ...]) -> tuple[Cache, ...]:
    caches: dict[tuple[int, str, tuple[int, ...]], Cache] = {}
    for pu in online:
        for name in host.list_dir(f"{_CPUS}/cpu{pu}/cache"):
            if name.startswith("index"):
                cache = _cache(host, f"{_CPUS}/cpu{pu}/cache/{name}", pu)
                caches.setdefault((cache.level, cache.kind, cache.pus), cache)
    return tuple(sorted(caches.values(), key=lambda cache: (-cache.level, cache.pus)))


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
