"""GPUs in hwloc's XML, and the hardware threads next to them."""

import xml.etree.ElementTree as ElementTree

from mpiric.model.machine import Topology
from mpiric.model.placement import Gpu

_COMPUTE_CLASSES = {"0302", "1200"}  # PCI classes: 3D controller, processing accelerator
_COPROCESSOR, _GPU = "5", "1"  # hwloc_obj_osdev_type_t in hwloc 2
_DRIVERS = ("cuda", "nvml", "rsmi", "ze", "opencl")


def read_gpus(topology: Topology) -> tuple[Gpu, ...]:
    """Return one GPU for each PCI device that computes, in bus order; needs XML with I/O devices.

    Display adapters without a compute driver (the controller of a server's console) do not count.
    """
    if not topology.xml:
        return ()
    gpus: list[Gpu] = []

    def visit(entry: ElementTree.Element, pus: tuple[int, ...]) -> None:
        if entry.get("cpuset"):
            pus = _pus_of(entry) or pus
        if entry.get("type") == "PCIDev" and _computes(entry):
            gpus.append(Gpu(len(gpus), _name(entry), pus))
            return
        for child in entry.findall("object"):
            visit(child, pus)

    root = ElementTree.fromstring(topology.xml)  # noqa: S314 a topology file has no entities to expand
    for top in root.findall("object"):
        visit(top, topology.pus)
    return tuple(gpus)


def _pus_of(entry: ElementTree.Element) -> tuple[int, ...]:
    return tuple(
        sorted(int(pu.get("os_index", "0")) for pu in entry.iter("object") if pu.get("type") == "PU")
    )


def _computes(entry: ElementTree.Element) -> bool:
    return entry.get("pci_type", "")[:4] in _COMPUTE_CLASSES or bool(_devices(entry))


def _devices(entry: ElementTree.Element) -> list[str]:
    return [
        device.get("name", "")
        for device in entry.iter("object")
        if device.get("type") == "OSDev"
        and device.get("osdev_type") in {_COPROCESSOR, _GPU}
        and device.get("name", "").startswith(_DRIVERS)
    ]


def _name(entry: ElementTree.Element) -> str:
    names = _devices(entry)
    model = next(
        (info.get("value", "") for info in entry.iter("info") if info.get("name") == "PCIDevice"), ""
    )
    return model or (names[0] if names else entry.get("pci_busid", "gpu"))
