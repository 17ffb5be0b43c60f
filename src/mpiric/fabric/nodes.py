"""Speed and settings of nodes from the output of `probe-mpi nodes`, and nodes that differ from the others.

Nodes are compared within a kind: equal CPU model, cores and NUMA nodes.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from mpiric.model.amount import counted, share, size
from mpiric.model.dataclass import dataclass
from mpiric.model.json_text import is_number, json_lines
from mpiric.model.slow_nodes import slow_nodes

_BEGIN = '{"kind":"node"'
_MEMORY = "memory bandwidth"
UNITS = {
    "arithmetic": "Gflop/s per core",
    "slowest core": "Gflop/s",
    "clock": "MHz",
    _MEMORY: "MB/s",
    "latency": "µs",
    "bandwidth": "MB/s",
}


@dataclass(frozen=True)
class NodeSpeed:
    """Measurements and settings of one node."""

    host: str
    kind: str  # "Intel Xeon …, 64 cores, 2 NUMA nodes"
    speeds: Mapping[str, tuple[float, ...]]  # quantity → its value in each pass
    settings: Mapping[str, str]
    amounts: Mapping[str, float]  # sizes in bytes, compared with a tolerance
    load: float  # load average before the measurement

    def typical(self, quantity: str) -> float:
        """Return the median of the passes."""
        return median(self.speeds[quantity])


def node_of(row: Any) -> NodeSpeed | None:
    """Read a node as `mpiric nodes --json` prints it; None for other values."""
    names = ("speeds", "settings", "amounts")
    parts: list[Any] = [row.get(name) for name in names] if isinstance(row, dict) else []
    if not parts or not all(isinstance(part, dict) for part in parts):
        return None
    host, kind, load = (row.get(name) for name in ("host", "kind", "load"))
    if not (isinstance(host, str) and isinstance(kind, str) and is_number(load)):
        return None
    speeds, settings, amounts = parts
    positive = {
        name: tuple(values)
        for name, values in speeds.items()
        if isinstance(values, list) and values and all(is_number(value) and value > 0 for value in values)
        if name.startswith(_MEMORY) or name in UNITS
    }
    texts = {name: value for name, value in settings.items() if isinstance(value, str)}
    sizes = {name: value for name, value in amounts.items() if is_number(value)}
    return NodeSpeed(host, kind, positive, texts, sizes, float(load)) if positive else None


@dataclass(frozen=True)
class Outlier:
    """A quantity in which a node is slower than the other nodes of its kind."""

    host: str
    quantity: str
    value: float
    peers: float  # median of the other nodes
    change: float  # relative to the median: -0.12 is 12 % below it
    low: float  # 95 % interval of the change
    high: float

    def __str__(self) -> str:
        value = f"{self.quantity}: {self.value:.3g} {unit_of(self.quantity)}"
        if self.change > 1:
            low, high = 1 + self.low, 1 + self.high
            change, ends = f"{1 + self.change:.3g} times", f"{low:.3g} to {high:.3g}"
        else:
            low, high = sorted(abs(end) for end in (self.low, self.high))
            side = "above" if self.change > 0 else "below"
            change, ends = f"{share(abs(self.change))} {side}", f"{share(low)} to {share(high)}"
        return f"{value}, {change} the median of the others, {self.peers:.3g} (95 % interval: {ends})"


@dataclass(frozen=True)
class Difference:
    """A setting that some nodes of a kind have, and most do not."""

    setting: str
    value: str
    hosts: tuple[str, ...]
    usual: str


@dataclass(frozen=True)
class NodesReport:
    """Result of `mpiric nodes`."""

    nodes: tuple[NodeSpeed, ...]
    outliers: tuple[Outlier, ...]
    differences: tuple[Difference, ...]
    failed: Mapping[str, str]  # host → reason why it was not measured
    scheduler: str = ""

    @property
    def slow(self) -> tuple[str, ...]:
        """Return the nodes that are slow in any quantity, the slowest first."""
        worst = sorted(self.outliers, key=lambda outlier: -abs(outlier.change))
        return tuple(dict.fromkeys(outlier.host for outlier in worst))


def unit_of(quantity: str) -> str:
    """Return the unit of a quantity; memory has one quantity per NUMA node."""
    return UNITS[_MEMORY if quantity.startswith(_MEMORY) else quantity]


def judge_nodes(nodes: Sequence[NodeSpeed], failed: Mapping[str, str], scheduler: str = "") -> NodesReport:
    """Compare the nodes of each kind."""
    kinds: dict[str, list[NodeSpeed]] = {}
    for node in nodes:
        kinds.setdefault(node.kind, []).append(node)
    return NodesReport(
        tuple(nodes),
        tuple(outlier for alike in kinds.values() for outlier in _outliers(alike)),
        tuple(difference for alike in kinds.values() for difference in _differences(alike)),
        failed,
        scheduler,
    )


def _outliers(nodes: Sequence[NodeSpeed]) -> Iterator[Outlier]:
    quantities = [name for name in nodes[0].speeds if all(name in node.speeds for node in nodes)]
    for quantity in quantities:
        sign = 1 if quantity == "latency" else -1  # a rate becomes a time by division
        times = {node.host: [value**sign for value in node.speeds[quantity]] for node in nodes}
        for slow in slow_nodes(times, comparisons=len(quantities)):
            values = {node.host: node.typical(quantity) for node in nodes}
            ends = sorted((1 + share) ** sign - 1 for share in (slow.low, slow.high))
            yield Outlier(
                slow.node,
                quantity,
                values[slow.node],
                median(value for host, value in values.items() if host != slow.node),
                (1 + slow.share) ** sign - 1,
                *ends,
            )


_TOLERANCE = 0.02  # relative difference of memory sizes: the kernel reserves a part


def _differences(nodes: Sequence[NodeSpeed]) -> Iterator[Difference]:
    names = dict.fromkeys(name for node in nodes for name in node.settings)
    for name in names:
        values = {node.host: node.settings.get(name, "missing") for node in nodes}
        usual = Counter(values.values()).most_common(1)[0][0]
        yield from _different(name, {host: value for host, value in values.items() if value != usual}, usual)
    for name in dict.fromkeys(name for node in nodes for name in node.amounts):
        amounts = {node.host: node.amounts.get(name, 0.0) for node in nodes}
        middle = median(amounts.values())
        unusual = {
            host: size(value) for host, value in amounts.items() if abs(value - middle) > _TOLERANCE * middle
        }
        yield from _different(name, unusual, size(middle))


def _different(name: str, unusual: Mapping[str, str], usual: str) -> Iterator[Difference]:
    for value in dict.fromkeys(unusual.values()):
        yield Difference(name, value, tuple(host for host in unusual if unusual[host] == value), usual)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].strip()


def _chosen(text: str) -> str:
    match = re.search(r"\[(\w+)\]", text)
    return match[1] if match else ""


def _cpuinfo(field: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        match = re.search(rf"^{field}\s*:\s*(.*)", text, re.MULTILINE)
        return match[1].strip() if match else ""

    return read


def _megahertz(text: str) -> str:
    return f"{int(text) / 1000:.0f} MHz" if text.strip().isdigit() else ""


def _switch(on: str) -> Callable[[str], str]:
    return lambda text: "on" if text.strip() == on else "off"


_CPU = "/sys/devices/system/cpu"
_PAGES = "/sys/kernel/mm/transparent_hugepage"
_CPUINFO = "/proc/cpuinfo"
_MEMINFO = "/proc/meminfo"
_LOAD = "/proc/loadavg"
# Setting, file, and the function that reads its value from the beginning of the file.
_SETTINGS: Sequence[tuple[str, str, Callable[[str], str]]] = (
    ("kernel", "/proc/sys/kernel/osrelease", _first_line),
    ("microcode", _CPUINFO, _cpuinfo("microcode")),
    ("frequency governor", f"{_CPU}/cpu0/cpufreq/scaling_governor", _first_line),
    ("frequency limit", f"{_CPU}/cpu0/cpufreq/scaling_max_freq", _megahertz),
    ("turbo", f"{_CPU}/intel_pstate/no_turbo", _switch("0")),
    ("turbo", f"{_CPU}/cpufreq/boost", _switch("1")),
    ("SMT", f"{_CPU}/smt/active", _switch("1")),
    ("NUMA balancing", "/proc/sys/kernel/numa_balancing", _switch("1")),
    ("transparent huge pages", f"{_PAGES}/enabled", _chosen),
    ("defragmentation for huge pages", f"{_PAGES}/defrag", _chosen),
)
FILES = tuple(dict.fromkeys((*(path for _, path, _ in _SETTINGS), _CPUINFO, _MEMINFO, _LOAD)))


def read_nodes(text: str) -> tuple[NodeSpeed, ...]:
    """Parse the output of the probe; damaged lines are skipped, and the second rank of a host is ignored."""
    rows = [row for row in json_lines(text, _BEGIN) if _is_complete(row)]
    hosts = {row["rank"]: row["host"] for row in rows}
    nodes = {row["host"]: _node(row, hosts) for row in reversed(rows)}
    return tuple(reversed(nodes.values()))


def _is_complete(row: Mapping[str, Any]) -> bool:
    """Return whether a row has the fields of the probe with their types."""

    def numbers(value: object) -> bool:
        return isinstance(value, list) and all(map(is_number, value))

    def lists(value: object) -> bool:
        return isinstance(value, list) and all(map(numbers, value))

    texts, flat, nested = ("host", "library"), ("pus", "numa", "mhz"), ("gflop_s", "memory_mb_s", "links")
    files = row.get("files")
    return (
        all(isinstance(row.get(name), str) for name in texts)
        and all(numbers(row.get(name)) for name in flat)
        and all(lists(row.get(name)) for name in nested)
        and all(len(link) == 3 for link in row["links"])
        and all(is_number(row.get(name)) for name in ("rank", "shm_bytes"))
        and isinstance(files, dict)
        and all(isinstance(content, str) for content in files.values())
    )


def _node(row: Mapping[str, Any], hosts: Mapping[int, str]) -> NodeSpeed:
    files: Mapping[str, str] = row["files"]
    readable = ((name, read(files[path])) for name, path, read in _SETTINGS if path in files)
    settings = {name: value for name, value in readable if value}
    model = _cpuinfo("model name")(files.get(_CPUINFO, "")) or "unknown CPU"
    total = re.search(r"^MemTotal:\s*(\d{1,15}) kB", files.get(_MEMINFO, ""), re.MULTILINE)
    load = re.match(r"\d{1,6}\.\d\d", files.get(_LOAD, ""))
    passes = [values for values in row["gflop_s"] if values]
    cores = list(zip(*passes, strict=False))
    speeds = {
        "arithmetic": [fmean(values) for values in passes],
        "slowest core": list(min(cores, key=median)) if cores else [],
        "clock": row["mhz"],
        **{
            f"{_MEMORY} of NUMA node {node:g}" if len(row["numa"]) > 1 else _MEMORY: values
            for node, values in zip(row["numa"], row["memory_mb_s"], strict=False)
        },
        **_messages(row["links"], row["host"], hosts),
    }
    return NodeSpeed(
        host=row["host"],
        kind=f"{model}, {counted(len(row['pus']), 'core')}, {counted(len(row['numa']), 'NUMA node')}",
        speeds={name: tuple(values) for name, values in speeds.items() if values and min(values) > 0},
        settings={**settings, "MPI library": " ".join(row["library"].split())},
        amounts={"memory": float(total[1]) * 1024 if total else 0.0, "/dev/shm": row["shm_bytes"]},  # noqa: S108
        load=float(load[0]) if load else 0.0,
    )


def _messages(
    links: Sequence[Sequence[float]], host: str, hosts: Mapping[int, str]
) -> dict[str, list[float]]:
    """Return latencies and bandwidths with the better half of the partners.

    The others may themselves have a slow link, which must not count against this node.
    """
    by_partner: dict[int, list[Sequence[float]]] = {}
    for link in links:
        if hosts.get(int(link[0])) != host:
            by_partner.setdefault(int(link[0]), []).append(link)
    half = (len(by_partner) + 1) // 2
    near = sorted(by_partner.values(), key=lambda of_one: median(link[1] for link in of_one))[:half]
    wide = sorted(by_partner.values(), key=lambda of_one: -median(link[2] for link in of_one))[:half]
    return {
        "latency": [link[1] for of_one in near for link in of_one],
        "bandwidth": [link[2] for of_one in wide for link in of_one],
    }
