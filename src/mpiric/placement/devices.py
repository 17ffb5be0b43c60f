"""GPUs and network adapters in hwloc's XML, and the adapters nearest to each rank."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from itertools import takewhile

from mpiric.model.amount import number_of
from mpiric.model.machine import Topology
from mpiric.model.placement import GPU_VARIABLES, Adapter, Devices, Gpu, Seat, devices_of

_COMPUTE_CLASSES = {"0302", "1200"}  # PCI classes: 3D controller, processing accelerator
_GPU, _NETWORK, _FABRIC, _COPROCESSOR = "1", "2", "3", "5"  # hwloc_obj_osdev_type_t in hwloc 2
_DRIVERS = ("cuda", "nvml", "rsmi", "ze", "opencl")
_SLINGSHOT = "17db"  # PCI vendor Cray; interfaces hsn0 or hsi0, devices cxi0
_ACTIVE = {"", "4"}  # IBV_PORT_ACTIVE
_ROCE_LID = "0x0"  # ports on Ethernet have no local identifier


def read_devices(topology: Topology) -> Devices:
    """Return the GPUs and the network adapters; needs XML with I/O devices.

    Display adapters without a compute driver (the controller of a server's console) do not count.
    """
    if not topology.xml:
        return Devices()
    pci_devices: list[tuple[ElementTree.Element, tuple[int, ...], tuple[str, ...]]] = []

    def visit(entry: ElementTree.Element, pus: tuple[int, ...], bridges: tuple[str, ...]) -> None:
        if entry.get("cpuset"):
            pus = (
                tuple(
                    sorted(
                        int(pu.get("os_index", "0")) for pu in entry.iter("object") if pu.get("type") == "PU"
                    )
                )
                or pus
            )
        if entry.get("type") == "PCIDev":
            pci_devices.append((entry, pus, bridges))
            return
        if entry.get("type") == "Bridge":
            bridges = (*bridges, entry.get("pci_busid", entry.get("bridge_pci", "")))
        for child in entry.findall("object"):
            visit(child, pus, bridges)

    root = ElementTree.fromstring(topology.xml)  # noqa: S314 a topology file has no entities to expand
    for top in root.findall("object"):
        visit(top, topology.pus, ())
    pci_devices.sort(key=lambda device: device[0].get("pci_busid", ""))
    return devices_of(
        (_gpu(*device) for device in pci_devices if _computes(device[0])),
        (adapter for device in pci_devices if (adapter := _adapter(*device)) is not None),
    )


def _gpu(entry: ElementTree.Element, pus: tuple[int, ...], bridges: tuple[str, ...]) -> tuple[Gpu, int]:
    variable = GPU_VARIABLES.get(_vendor(entry), "")
    tiles = number_of(_info(entry, "LevelZeroSubdevices"))
    drivers = [n for n in _os_devices(entry, {_GPU, _COPROCESSOR}) if n.startswith(_DRIVERS)]
    return Gpu(
        0,
        _info(entry, "PCIDevice") or _info(entry, "GPUModel") or (*drivers, entry.get("pci_busid", "gpu"))[0],
        pus,
        variable=variable,
        bridges=bridges,
    ), tiles


def _computes(entry: ElementTree.Element) -> bool:
    drivers = (name.startswith(_DRIVERS) for name in _os_devices(entry, {_GPU, _COPROCESSOR}))
    return entry.get("pci_type", "")[:4] in _COMPUTE_CLASSES or any(drivers)


def _adapter(entry: ElementTree.Element, pus: tuple[int, ...], bridges: tuple[str, ...]) -> Adapter | None:
    names = _os_devices(entry, {_FABRIC})
    if not names and _vendor(entry) == _SLINGSHOT:
        names = [re.sub(r"^\D+", "cxi", name) for name in _os_devices(entry, {_NETWORK})]
    port = next((number for number in "12" if _info(entry, f"Port{number}State") in _ACTIVE), "")
    if not names or not port:
        return None
    name = f"{names[0]}:{port}" if names[0].startswith("mlx") else names[0]
    return Adapter(name, pus, bridges, on_ethernet=_info(entry, "Port1LID") == _ROCE_LID)


def _os_devices(entry: ElementTree.Element, kinds: set[str]) -> list[str]:
    return [
        device.get("name", "")
        for device in entry.iter("object")
        if device.get("type") == "OSDev" and device.get("osdev_type") in kinds
    ]


def _vendor(entry: ElementTree.Element) -> str:
    match = re.search(r"\[([0-9a-f]{4}):", entry.get("pci_type", ""))
    return match[1] if match else ""


def _info(entry: ElementTree.Element, name: str) -> str:
    return next((info.get("value", "") for info in entry.iter("info") if info.get("name") == name), "")


def adapters_of(
    topology: Topology, seats: Sequence[Seat], gpus: Sequence[Gpu], adapters: Sequence[Adapter]
) -> list[tuple[str, ...]]:
    """Return the adapters of each rank: the nearest ones, dealt out among the ranks that they are nearest to.

    A rank gets several if there are more adapters than such ranks, and none if the node has only one.
    """
    chosen: list[tuple[str, ...]] = [()] * len(seats)
    if len(adapters) < 2:
        return chosen
    package_of = {pu: core.package for core in topology.cores for pu in core.pus}
    sharing: dict[tuple[str, ...], list[int]] = {}
    for rank, seat in enumerate(seats):
        gpu = gpus[seat.gpu] if seat.gpu >= 0 else Gpu(-1, "", seat.pus)
        near = [_nearness(gpu, adapter, package_of) for adapter in adapters]
        names = tuple(a.name for a, nearness in zip(adapters, near, strict=True) if nearness == max(near))
        sharing.setdefault(names, []).append(rank)
    for names, ranks in sharing.items():
        for number, rank in enumerate(ranks):
            first = number * len(names) // len(ranks)
            chosen[rank] = names[first : max(first + 1, (number + 1) * len(names) // len(ranks))]
    return chosen


def _nearness(gpu: Gpu, adapter: Adapter, package_of: dict[int, int]) -> tuple[int, float, bool]:
    """Return PCI bridges and share of hardware threads in common, and whether they are on one socket."""
    near, other = set(gpu.pus), set(adapter.pus)
    packages = {package_of.get(pu) for pu in near} & {package_of.get(pu) for pu in other}
    pairs = zip(gpu.bridges, adapter.bridges, strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return common, len(near & other) / max(1, len(near | other)), bool(packages)
