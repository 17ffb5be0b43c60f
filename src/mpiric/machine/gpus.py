"""The GPUs of this machine, from the kernel's list of PCI devices."""

from mpiric.host.host import Host
from mpiric.model.placement import Gpu
from mpiric.model.pu_set import parse_pu_list

_DEVICES = "/sys/bus/pci/devices"
_COMPUTES = ("0x0302", "0x1200")  # 3D controller, processing accelerator
_DISPLAY = "0x03"
_DRIVERS = {"nvidia", "amdgpu", "xe"}  # of display adapters that compute as well


def local_gpus(host: Host) -> tuple[Gpu, ...]:
    """GPUs in the order of the bus, as CUDA_DEVICE_ORDER=PCI_BUS_ID numbers them."""
    found: list[Gpu] = []
    for name in host.list_dir(_DEVICES):
        kind = (host.read_text(f"{_DEVICES}/{name}/class") or "").strip()
        uevent = (host.read_text(f"{_DEVICES}/{name}/uevent") or "").splitlines()
        driver = next((line.partition("=")[2] for line in uevent if line.startswith("DRIVER=")), "")
        if kind.startswith(_COMPUTES) or (kind.startswith(_DISPLAY) and driver in _DRIVERS):
            near = parse_pu_list(host.read_text(f"{_DEVICES}/{name}/local_cpulist") or "")
            found.append(Gpu(len(found), f"{driver or 'gpu'} {name}", near))
    return tuple(found)
