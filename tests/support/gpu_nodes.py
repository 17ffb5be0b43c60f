"""Nodes with GPUs: hwloc's XML from the published facts in tests/data/gpu_nodes."""

from functools import cache
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from mpiric.host.packaged import parse_toml
from mpiric.machine import read_topology
from mpiric.model.machine import Topology, parse_pu_list, pu_mask

_FACTS = Path(__file__).parents[1] / "data/gpu_nodes"
NAMES = tuple(sorted(path.stem for path in _FACTS.glob("*.toml")))


@cache
def gpu_node(name: str) -> Topology:
    """Return the topology of a node, with I/O devices in its XML."""
    return read_topology(xml_of(name))


def xml_of(name: str) -> str:
    facts = parse_toml((_FACTS / f"{name}.toml").read_text())
    numas = [numa for package in facts["packages"] for numa in package]
    ids = iter(range(1, 1000))

    def pus(cores: list[str]) -> tuple[int, ...]:
        first = [core for text in cores for core in parse_pu_list(text)]
        return tuple(sorted([*first, *(core + facts["smt_offset"] for core in first)]))

    def entry(kind: str, cores: list[str], *children: str, **attributes: object) -> str:
        return _entry(kind, *children, cpuset=pu_mask(pus(cores)), **attributes)

    def core(number: int) -> str:
        siblings = pus([str(number)])
        return entry("Core", [str(number)], *(_entry("PU", os_index=pu) for pu in siblings), os_index=number)

    def numa(number: int) -> str:
        cores = numas[number]
        caches = (
            entry("L3Cache", [text], *map(core, parse_pu_list(text)), depth=3, cache_size=1 << 25)
            for text in cores
        )
        memory = _entry("NUMANode", os_index=number, local_memory=1 << 36, cpuset=pu_mask(pus(cores)))
        bridges = (
            _bridge(facts, bridge, next(ids)) for bridge in facts["bridges"] if bridge["numa"] == number
        )
        return entry("Group", cores, memory, *caches, *bridges)

    packages, first = [], 0
    for number, inside in enumerate(facts["packages"]):
        cores = [text for cores in inside for text in cores]
        members = map(numa, range(first, first + len(inside)))
        packages.append(entry("Package", cores, *members, os_index=number))
        first += len(inside)
    every = [text for cores in numas for text in cores]
    return f'<topology version="2.0">{entry("Machine", every, *packages, os_index=0)}</topology>'


def _bridge(facts: dict[str, Any], bridge: dict[str, Any], number: int) -> str:
    """Return a host bridge with a switch that all its devices are behind."""
    cards = sorted(bus for entry in facts["bridges"] for bus in entry.get("gpus", ()))
    gpus = (_gpu(facts, bus, cards.index(bus)) for bus in bridge.get("gpus", ()))
    networks = (_network(facts, bus, name) for bus, name in bridge.get("networks", {}).items())
    switch = _entry("Bridge", *gpus, *networks, bridge_type="1-1", pci_busid=f"0000:{number:02x}:01.0")
    return _entry("Bridge", switch, bridge_type="0-1", bridge_pci=f"0000:[{number:02x}-{number:02x}]")


def _gpu(facts: dict[str, Any], bus: str, number: int) -> str:
    tiles = facts.get("tiles", 1)
    details = _info("LevelZeroSubdevices", tiles) if tiles > 1 else ""
    kind = "5" if facts["driver"] == "ze" else "1"
    device = _entry("OSDev", details, name=f"{facts['driver']}{number}", osdev_type=kind)
    return _entry("PCIDev", device, pci_busid=f"0000:{bus}:00.0", pci_type=f"{facts['gpu']} [0:0] 00")


def _network(facts: dict[str, Any], bus: str, text: str) -> str:
    name, *kind = text.split()
    if vendor := facts.get("network"):
        device, pci = _entry("OSDev", name=name, osdev_type="2"), f"0200 [{vendor}]"
    else:
        port = _info("Port1State", 4) + _info("Port1LID", "0x0" if kind else "0x5")
        device, pci = _entry("OSDev", port, name=name, osdev_type="3"), "0207 [15b3:101b]"
    return _entry("PCIDev", device, pci_busid=f"0000:{bus}:00.0", pci_type=f"{pci} [0:0] 00")


def _entry(kind: str, *children: str, **attributes: object) -> str:
    attribute_text = " ".join(f"{name}={quoteattr(str(value))}" for name, value in attributes.items())
    return f'<object type="{kind}" {attribute_text}>{"".join(children)}</object>'


def _info(name: str, value: object) -> str:
    return f'<info name="{name}" value="{value}"/>'
