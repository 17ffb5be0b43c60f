"""A picture of packages, NUMA nodes, caches, cores and hardware threads.

A package is a box, a NUMA node a line, and a shared last-level cache a pair of brackets. Equal parts are
written as ranges, so that a node of 256 hardware threads fits a screen.
"""

from collections import Counter
from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from mpiric.model.amount import size
from mpiric.model.machine import Cache, Core, NumaNode, Topology, pu_list

_EVERY_CORE_UP_TO = 16  # number of cores up to which each core is drawn; more are drawn as ranges


def topology_picture(topology: Topology, usable: Iterable[int] = (), title: str = "") -> RenderableType:
    """Draw a topology. Hardware threads that are not ``usable`` are dimmed; all are usable if it is empty."""
    allowed = frozenset(usable) or frozenset(topology.pus)
    boxes = [_package(topology, package, allowed, title) for package in topology.packages]
    lines = []
    for kind in ("performance", "efficiency"):
        cores = [core for core in topology.cores if core.kind == kind]
        if cores:
            pus = tuple(pu for core in cores for pu in core.pus)
            lines.append(Text(f"{kind} cores: {len(cores)}, hardware threads {pu_list(pus)}"))
    return Group(*boxes, Text(_each_core(topology)), *lines)


def _package(topology: Topology, package: int, allowed: frozenset[int], title: str) -> Panel:
    cores = [core for core in topology.cores if core.package == package]
    pus = {pu for core in cores for pu in core.pus}
    table = Table.grid(padding=(0, 2))
    for node in topology.numa_nodes:
        inside = pus.intersection(node.pus)
        if inside:
            table.add_row(*_node(topology, node, [c for c in cores if inside.intersection(c.pus)], allowed))
        elif not node.pus and package == topology.packages[0]:
            table.add_row(Text(f"NUMA {node.index}"), size(node.memory_bytes), Text("memory without CPUs"))
    name = f"package {package}" + (f": {title}" if title else "")
    caption = f"{len(cores)} cores, {len(pus)} hardware threads"
    return Panel(table, title=Text(name), subtitle=Text(caption), title_align="left", expand=False)


def _node(
    topology: Topology, node: NumaNode, cores: list[Core], allowed: frozenset[int]
) -> tuple[Text, Text, Text, Text]:
    pus = {pu for core in cores for pu in core.pus}
    level = _shared_level(topology)
    caches = [
        c for c in topology.caches if c.level == level and c.kind != "instruction" and pus.intersection(c.pus)
    ]
    drawn = Text()
    # Cores without such a cache (efficiency cores may lack one) form a separate group.
    uncached = pus.difference(*(cache.pus for cache in caches)) if caches else pus
    for group in [*(pus.intersection(cache.pus) for cache in caches), uncached]:
        if group:
            drawn.append(" " if drawn else "")
            drawn.append_text(_bracket(topology, [c for c in cores if group.intersection(c.pus)], allowed))
    return (
        Text(f"NUMA {node.index}", style="bold"),
        Text(size(node.memory_bytes), justify="right"),
        Text(_cache_name(caches)),
        drawn,
    )


def _bracket(topology: Topology, cores: list[Core], allowed: frozenset[int]) -> Text:
    text = Text("[")
    if len(topology.cores) <= _EVERY_CORE_UP_TO:
        for number, core in enumerate(cores):
            text.append("|" if number else "")
            text.append(",".join(str(pu) for pu in core.pus), style=_style(core.pus, allowed))
    else:
        pus = tuple(pu for core in cores for pu in core.pus)
        text.append(pu_list(pus), style=_style(pus, allowed))
    return text.append("]")


def _style(pus: tuple[int, ...], allowed: frozenset[int]) -> str:
    return "green" if allowed.intersection(pus) else "dim"


def _shared_level(topology: Topology) -> int:
    """Return the outermost cache level that several cores share, 0 if there is none."""
    siblings = {core.pus: len(core.pus) for core in topology.cores}
    widest = max(siblings.values(), default=1)
    return max((c.level for c in topology.caches if len(c.pus) > widest), default=0)


def _cache_name(caches: list[Cache]) -> str:
    if not caches:
        return ""
    counted = Counter(cache.size_bytes for cache in caches)
    return " + ".join(
        (f"{count} × " if count > 1 else "") + f"L{caches[0].level} {size(bytes_)}"
        for bytes_, count in counted.items()
    )


def _each_core(topology: Topology) -> str:
    """Describe the private caches and hardware threads of most cores."""
    level = _shared_level(topology)
    private = Counter(
        (c.level, c.kind, c.size_bytes) for c in topology.caches if not level or c.level < level
    )
    letters = {"data": "d", "instruction": "i"}
    best: dict[tuple[int, str], int] = {}
    for (depth, kind, bytes_), _ in private.most_common():
        best.setdefault((depth, kind), bytes_)
    parts = [
        f"L{depth}{letters.get(kind, '')} {size(bytes_)}"
        for (depth, kind), bytes_ in sorted(best.items(), key=lambda item: (-item[0][0], item[0][1]))
    ]
    threads = sorted({len(core.pus) for core in topology.cores})
    count = " or ".join("1 hardware thread" if n == 1 else f"{n} hardware threads" for n in threads)
    return "each core: " + ", ".join([*parts, count])
