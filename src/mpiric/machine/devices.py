"""GPUs and network adapters of this machine, from /sys."""

from collections.abc import Iterator

from mpiric.host.host import Host
from mpiric.machine.system import read_nics
from mpiric.model.devices import GPU_VARIABLES, Adapter, Devices, Gpu, devices_of
from mpiric.model.machine import parse_pu_list

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
