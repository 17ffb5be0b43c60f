"""GPUs of this machine, from the kernel's list of PCI devices."""

from mpiric.host.host import Host
from mpiric.model.placement import Gpu
from mpiric.model.pu_set import parse_pu_list

_DEVICES = "/sys/bus/pci/devices"
_COMPUTE_CLASSES = ("0x0302", "0x1200")  # 3D controller, processing accelerator
_DISPLAY = "0x03"
_DRIVERS = {"nvidia", "amdgpu", "xe"}  # drivers of display adapters that can also compute


def local_gpus(host: Host) -> tuple[Gpu, ...]:
    """Return the GPUs in bus order, as CUDA_DEVICE_ORDER=PCI_BUS_ID numbers them."""
    gpus: list[Gpu] = []
    for name in host.list_dir(_DEVICES):
        kind = (host.read_text(f"{_DEVICES}/{name}/class") or "").strip()
        uevent = (host.read_text(f"{_DEVICES}/{name}/uevent") or "").splitlines()
        driver = next((line.partition("=")[2] for line in uevent if line.startswith("DRIVER=")), "")
        if kind.startswith(_COMPUTE_CLASSES) or (kind.startswith(_DISPLAY) and driver in _DRIVERS):
            near = parse_pu_list(host.read_text(f"{_DEVICES}/{name}/local_cpulist") or "")
            gpus.append(Gpu(len(gpus), f"{driver or 'gpu'} {name}", near))
    return tuple(gpus)
