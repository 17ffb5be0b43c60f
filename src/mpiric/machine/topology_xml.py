"""XML of hwloc (version 2) → Topology."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping

from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.machine import Cache, Core, NumaNode, Topology, parse_pu_mask

_CACHE_KINDS = {"0": "unified", "1": "data", "2": "instruction"}
MOST_PUS = 8192  # largest NR_CPUS of Linux on any architecture
_DEPTH = 100  # levels of hwloc's tree; real trees have about ten
_CORE_TYPES = {"IntelCore": "performance", "IntelAtom": "efficiency", "IntelLowPowerAtom": "efficiency"}


@dataclass(frozen=True)
class _CpuKind:
    pus: frozenset[int]
    efficiency: int  # hwloc's rank: higher computes faster, -1 if unknown
    core_type: str


def read_topology(xml: str) -> Topology:
    """Return the topology in hwloc's XML text; cores are numbered in the order of the tree, as hwloc does.

    Raises MpiricError for a text that is not a topology of hwloc 2.
    """
    root = _checked(xml)
    if not root.get("version", "").startswith(("2", "3")):
        raise MpiricError(
            "this is not a topology of hwloc 2", hint="convert it with `lstopo -i FILE.xml --of xml NEW.xml`"
        )
    objects = list(root.iter("object"))
    try:
        nodes = _numa_nodes(root, objects)
        cores = _cores(
            root,
            nodes,
            tuple(
                _CpuKind(
                    frozenset(parse_pu_mask(entry.get("cpuset", ""))),
                    int(entry.get("forced_efficiency", "-1")),
                    next((i.get("value", "") for i in entry.iter("info") if i.get("name") == "CoreType"), ""),
                )
                for entry in root.iter("cpukind")
            ),
        )
        return Topology(
            cores=cores,
            numa_nodes=nodes,
            caches=tuple(
                Cache(
                    level=int(entry.get("depth", "0")),
                    kind=_CACHE_KINDS.get(entry.get("cache_type", "0"), "unified"),
                    size_bytes=int(entry.get("cache_size", "0")),
                    line_bytes=int(entry.get("cache_linesize", "0")),
                    pus=_pus(entry),
                )
                for entry in objects
                if "Cache" in entry.get("type", "")
            ),
            xml=xml,
        )
    except ValueError as error:
        raise _refused(str(error)) from None


def check_topology(xml: str) -> None:
    """Check XML from another source before libhwloc reads it, which takes minutes over a wrong number.

    Raises MpiricError for a text that is not a topology of any version.
    """
    _checked(xml)


def _checked(xml: str) -> ElementTree.Element:
    try:
        root = ElementTree.fromstring(xml)  # noqa: S314 expat limits the expansion of entities
    except ElementTree.ParseError as error:
        raise _refused(str(error)) from None
    if root.tag != "topology":
        raise _refused(f"the root element is {root.tag!r}, not 'topology'")
    if not _is_flat(root):
        raise _refused(f"objects are nested more than {_DEPTH} levels deep")
    numbers = [entry.get("os_index", "0") for entry in root.iter("object") if entry.get("type") == "PU"]
    wrong = next((n for n in numbers if not (n.isascii() and n.isdigit() and int(n) < MOST_PUS)), None)
    if wrong is not None:
        raise _refused(f"{wrong[:20]!r} is not a number of a hardware thread")
    if not numbers or len(set(numbers)) < len(numbers):
        raise _refused(
            "two hardware threads have the same number" if numbers else "it has no hardware threads"
        )
    return root


def _is_flat(root: ElementTree.Element) -> bool:
    level = list(root)
    for _ in range(_DEPTH):
        level = [child for entry in level for child in entry]
        if not level:
            return True
    return False


def _refused(reason: str) -> MpiricError:
    return MpiricError(f"this is not XML of hwloc: {reason}", hint="export it with `lstopo FILE.xml`")


def _numa_nodes(root: ElementTree.Element, objects: list[ElementTree.Element]) -> tuple[NumaNode, ...]:
    entries = sorted(
        (entry for entry in objects if entry.get("type") == "NUMANode"), key=lambda entry: _index(entry)
    )
    distances = _distances(root)
    return tuple(
        NumaNode(
            index=_index(entry),
            memory_bytes=int(entry.get("local_memory", "0")),
            pus=_pus(entry),
            distances=tuple(
                distances[_index(entry), _index(other)]
                for other in entries
                if (_index(entry), _index(other)) in distances
            ),
        )
        for entry in entries
    )


def _distances(root: ElementTree.Element) -> Mapping[tuple[int, int], int]:
    for matrix in root.iter("distances2"):
        if matrix.get("type") == "NUMANode" and matrix.get("name", "NUMALatency") == "NUMALatency":
            indexes = [int(word) for part in matrix.iter("indexes") for word in (part.text or "").split()]
            values = [int(word) for part in matrix.iter("u64values") for word in (part.text or "").split()]
            pairs = ((row, column) for row in indexes for column in indexes)
            return dict(zip(pairs, values, strict=False))
    return {}


def _cores(
    root: ElementTree.Element, nodes: tuple[NumaNode, ...], kinds: tuple[_CpuKind, ...]
) -> tuple[Core, ...]:
    cores: list[Core] = []

    def visit(entry: ElementTree.Element, package: int) -> None:
        kind = entry.get("type")
        if kind == "Package":
            package = _index(entry)
        if kind == "Core" or kind == "PU":  # a PU outside of any core counts as a core
            pus = tuple(_index(pu) for pu in entry.iter("object") if pu.get("type") == "PU")
            if pus:
                pu = pus[0]
                holding = [node for node in nodes if pu in node.pus]
                cores.append(
                    Core(
                        len(cores),
                        package,
                        min(holding, key=lambda node: (len(node.pus), node.index)).index if holding else 0,
                        pus,
                        _kind_of(pus[0], kinds),
                    )
                )
            return
        for child in entry.findall("object"):
            visit(child, package)

    for top in root.findall("object"):
        visit(top, 0)
    return tuple(cores)


def _kind_of(pu: int, kinds: tuple[_CpuKind, ...]) -> str:
    """Return "performance" or "efficiency", "" on a CPU whose cores are alike."""
    if len(kinds) < 2:
        return ""
    cpu_kind = next((kind for kind in kinds if pu in kind.pus), None)
    if cpu_kind is None:
        return ""
    if cpu_kind.core_type in _CORE_TYPES:
        return _CORE_TYPES[cpu_kind.core_type]
    # hwloc sorts kinds by rising efficiency if it could rank them.
    return "performance" if cpu_kind is kinds[-1] else "efficiency"


def _pus(entry: ElementTree.Element) -> tuple[int, ...]:
    return parse_pu_mask(entry.get("cpuset", ""))


def _index(entry: ElementTree.Element) -> int:
    return int(entry.get("os_index", "0"))
