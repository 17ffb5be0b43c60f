"""GPUs and network adapters of this machine, from /sys, and the GPUs in use by a process.

A process uses the GPUs on which it has memory, by the kernel (AMD, Intel) or by nvidia-smi.
"""

import re
from collections.abc import Iterator, Mapping

from mpiric.host.host import Host
from mpiric.machine.system import read_nics
from mpiric.model.amount import number_of
from mpiric.model.machine import parse_pu_list
from mpiric.model.placement import GPU_VARIABLES, Adapter, Devices, Gpu, devices_of

_DEVICES = "/sys/bus/pci/devices"
_COMPUTE_CLASSES = ("0x0302", "0x1200")  # 3D controller, processing accelerator
_DISPLAY, _NO_SCREEN = "0x03", "0x0380"
_DRIVERS = {"nvidia", "amdgpu", "xe"}  # drivers of display adapters that can also compute


def local_devices(host: Host) -> Devices:
    """Return GPUs in bus order, as CUDA_DEVICE_ORDER=PCI_BUS_ID numbers them, and network adapters."""
    return devices_of(_gpus(host), _adapters(host))


def local_gpus(host: Host) -> tuple[Gpu, ...]:
    """Return the GPUs alone."""
    return devices_of(_gpus(host), ()).gpus


def _gpus(host: Host) -> Iterator[tuple[Gpu, int]]:
    for name in host.list_dir(_DEVICES):
        device = f"{_DEVICES}/{name}"
        kind = _text(host, f"{device}/class")
        uevent = (host.read_text(f"{device}/uevent") or "").splitlines()
        driver = next((line.partition("=")[2] for line in uevent if line.startswith("DRIVER=")), "")
        displays = kind.startswith(_DISPLAY) and driver in _DRIVERS
        if (
            displays
            or kind.startswith(_COMPUTE_CLASSES)
            or (kind.startswith(_NO_SCREEN) and driver == "i915")
        ):
            variable = GPU_VARIABLES.get(_text(host, f"{device}/vendor").removeprefix("0x"), "")
            pus, bridges = _place(host, device)
            yield (
                Gpu(0, f"{driver or 'gpu'} {name}", pus, "", variable, bridges),
                _tiles(host, device, driver),
            )


def _tiles(host: Host, device: str, driver: str) -> int:
    if driver == "xe":
        return sum(name.startswith("tile") for name in host.list_dir(device))
    cards = [name for name in host.list_dir(f"{device}/drm") if name.startswith("card")]
    return len(host.list_dir(f"{device}/drm/{cards[0]}/gt")) if cards and driver == "i915" else 1


def _adapters(host: Host) -> Iterator[Adapter]:
    for nic in read_nics(host):
        if nic.up and not nic.is_ip and nic.kind != "slingshot":
            name = f"{nic.name}:1" if nic.name.startswith("mlx") else nic.name
            yield Adapter(name, *_place(host, f"/sys/class/infiniband/{nic.name}/device"), nic.kind == "roce")
    for name in host.list_dir("/sys/class/cxi"):
        yield Adapter(name, *_place(host, f"/sys/class/cxi/{name}/device"))


def _place(host: Host, device: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the hardware threads next to a PCI device, and the bridges above it."""
    above = host.real_path(device).removeprefix("/sys/devices/").split("/")[:-1]
    return parse_pu_list(host.read_text(f"{device}/local_cpulist") or ""), tuple(above)


def _text(host: Host, path: str) -> str:
    return (host.read_text(path) or "").strip()


_KFD = "/sys/class/kfd/kfd/proc"  # processes that use AMD's compute driver
_QUERY = ("--query-compute-apps=pid,gpu_bus_id", "--format=csv,noheader")
_MEMORY = re.compile(r"^drm-(?:total|memory)-(?!gtt|cpu|system)\S+:\s+(\d+)", re.MULTILINE)
_MAIN_SHARE = 4  # a process has most of its memory on the GPU it uses, and little on others it can see


def gpus_in_use(host: Host, pid: int, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the PCI bus ids or the driver's numbers of the GPUs that a process computes on.

    A variable that leaves a process a single GPU decides where the driver reports no memory.
    """
    held = _amd(host, pid) or _by_descriptors(host, pid)
    largest = max(held.values(), default=0)
    if largest:
        return tuple(sorted(gpu for gpu, size in held.items() if size * _MAIN_SHARE >= largest))
    visible = (environment.get(variable, "") for variable in GPU_VARIABLES.values())
    return tuple(listed for listed in visible if listed and "," not in listed)


def nvidia_gpus(host: Host) -> dict[int, tuple[str, ...]]:
    """Map processes to the NVIDIA GPUs that they compute on; empty without nvidia-smi."""
    if not host.which("nvidia-smi"):
        return {}
    rows = [line.partition(",") for line in host.run(["nvidia-smi", *_QUERY]).stdout.splitlines()]
    pairs = [(number_of(pid.strip()), bus.strip().lower()) for pid, _, bus in rows]
    return {pid: tuple(sorted({bus for other, bus in pairs if other == pid})) for pid, _ in pairs if pid}


def _amd(host: Host, pid: int) -> dict[str, int]:
    files = [name for name in host.list_dir(f"{_KFD}/{pid}") if name.startswith("vram_")]
    sizes = {name: number_of((host.read_text(f"{_KFD}/{pid}/{name}") or "").strip()) for name in files}
    return {name.removeprefix("vram_"): size for name, size in sizes.items()}


def _by_descriptors(host: Host, pid: int) -> dict[str, int]:
    """Return the memory by PCI device that the kernel reports for open files of graphics drivers."""
    held: dict[str, int] = {}
    for name in host.list_dir(f"/proc/{pid}/fdinfo"):
        text = host.read_text(f"/proc/{pid}/fdinfo/{name}") or ""
        if device := re.search(r"^drm-pdev:\s+(\S+)", text, re.MULTILINE):
            held[device[1]] = max(held.get(device[1], 0), sum(map(number_of, _MEMORY.findall(text))))
    return held
