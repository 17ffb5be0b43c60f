"""GPUs on which a running process has memory, by the kernel (AMD, Intel) or by nvidia-smi."""

import re
from collections.abc import Mapping

from mpiric.host.host import Host
from mpiric.model.amount import number_of
from mpiric.model.devices import GPU_VARIABLES

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
