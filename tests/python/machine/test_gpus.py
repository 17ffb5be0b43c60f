"""GPUs as the kernel lists them."""

from mpiric.machine.devices import local_devices, local_gpus
from mpiric.model.placement import Adapter

_ROOT = "/sys/devices/pci0000:86/0000:86:01.0"
_DEVICES = {
    "0000:02:00.0": ("0x030000", "ast", "0-31"),
    "0000:07:00.0": ("0x030200", "nvidia", "0-15"),
    "0000:88:00.0": ("0x038000", "amdgpu", "16-31"),
    "0000:89:00.0": ("0x020000", "mlx5_core", "16-31"),
    "0000:9a:00.0": ("0x038000", "xe", "16-31"),
}
_VENDORS = {"nvidia": "0x10de", "amdgpu": "0x1002", "xe": "0x8086"}
_PORT = {"state": "4: ACTIVE", "rate": "400 Gb/sec (4X NDR)", "link_layer": "InfiniBand"}


class Sysfs:
    def list_dir(self, path: str) -> tuple[str, ...]:
        return {
            "/sys/bus/pci/devices": tuple(_DEVICES),
            "/sys/bus/pci/devices/0000:9a:00.0": ("class", "tile0", "tile1"),
            "/sys/class/infiniband": ("mlx5_0",),
            "/sys/class/cxi": ("cxi0",),
        }.get(path, ())

    def addresses(self) -> dict[str, tuple[str, ...]]:
        return {}

    def real_path(self, path: str) -> str:
        return f"{_ROOT}/{path.split('/')[-1]}"

    def read_text(self, path: str) -> str | None:
        *_, device, name = path.split("/")
        if device == "1":
            return _PORT.get(name)
        kind, driver, near = _DEVICES.get(device, ("", "", "16-31"))
        facts = {"class": f"{kind}\n", "uevent": f"DRIVER={driver}\nPCI_CLASS=1\n", "local_cpulist": near}
        return {**facts, "vendor": _VENDORS.get(driver)}.get(name)


def test_devices_that_compute_are_found_with_their_side_of_the_machine():
    gpus = local_gpus(Sysfs())
    assert [(gpu.index, gpu.name) for gpu in gpus] == [
        (0, "nvidia 0000:07:00.0"),
        (1, "amdgpu 0000:88:00.0"),
        (2, "xe 0000:9a:00.0, tile 0"),
        (3, "xe 0000:9a:00.0, tile 1"),
    ]
    assert gpus[1].pus == tuple(range(16, 32))
    assert [(gpu.variable, gpu.number) for gpu in gpus] == [
        ("CUDA_VISIBLE_DEVICES", "0"),
        ("ROCR_VISIBLE_DEVICES", "0"),
        ("ZE_AFFINITY_MASK", "0.0"),
        ("ZE_AFFINITY_MASK", "0.1"),
    ]


def test_adapters_have_the_names_of_their_libraries_and_the_bridges_above_them():
    near, above = tuple(range(16, 32)), ("pci0000:86", "0000:86:01.0")
    assert local_devices(Sysfs()).adapters == (
        Adapter("mlx5_0:1", near, above),
        Adapter("cxi0", near, above),
    )
