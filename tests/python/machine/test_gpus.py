"""GPUs as the kernel lists them."""

from mpiric.machine.system import local_gpus

_DEVICES = {
    "0000:02:00.0": ("0x030000", "ast", "0-31"),
    "0000:07:00.0": ("0x030200", "nvidia", "0-15"),
    "0000:88:00.0": ("0x038000", "amdgpu", "16-31"),
    "0000:89:00.0": ("0x020000", "mlx5_core", "16-31"),
}


class Sysfs:
    def list_dir(self, path: str) -> tuple[str, ...]:
        return tuple(_DEVICES)

    def read_text(self, path: str) -> str | None:
        *_, device, name = path.split("/")
        kind, driver, near = _DEVICES[device]
        return {"class": f"{kind}\n", "uevent": f"DRIVER={driver}\nPCI_CLASS=1\n", "local_cpulist": near}.get(
            name
        )


def test_devices_that_compute_are_found_with_their_side_of_the_machine():
    gpus = local_gpus(Sysfs())
    assert [(gpu.index, gpu.name) for gpu in gpus] == [
        (0, "nvidia 0000:07:00.0"),
        (1, "amdgpu 0000:88:00.0"),
    ]
    assert gpus[1].pus == tuple(range(16, 32))
