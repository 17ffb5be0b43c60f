"""GPUs of running processes as the drivers report them."""

from tests.support.replay_host import Recording, ReplayHost

from mpiric.host.host import Completed
from mpiric.machine.devices import gpus_in_use, nvidia_gpus

_KFD = "/sys/class/kfd/kfd/proc/7"
_SMI = '["nvidia-smi", "--query-compute-apps=pid,gpu_bus_id", "--format=csv,noheader"]'


def host(**facts) -> ReplayHost:
    return ReplayHost(Recording(**facts))


def test_the_gpu_with_most_memory_of_an_amd_process_counts():
    files = {f"{_KFD}/vram_11": "4096\n", f"{_KFD}/vram_12": "8000000000\n"}
    machine = host(directories={_KFD: ("pasid", "vram_11", "vram_12")}, files=files)
    assert gpus_in_use(machine, 7, {}) == ("12",)


def test_open_files_of_graphics_drivers_tell_the_device_of_an_intel_process():
    system = "drm-pdev:\t0000:18:00.0\ndrm-total-system0:\t900 MiB\n"
    files = {"/proc/7/fdinfo/3": "pos: 0\n", "/proc/7/fdinfo/4": system + "drm-total-local0:\t2048 MiB\n"}
    machine = host(directories={"/proc/7/fdinfo": ("3", "4")}, files=files)
    assert gpus_in_use(machine, 7, {}) == ("0000:18:00.0",)


def test_a_variable_with_one_gpu_decides_without_a_report_of_the_driver():
    assert gpus_in_use(host(), 7, {"CUDA_VISIBLE_DEVICES": "3"}) == ("3",)
    assert gpus_in_use(host(), 7, {"CUDA_VISIBLE_DEVICES": "0,1"}) == ()


def test_nvidia_gpus_are_those_of_nvidia_smi():
    rows = Completed(0, "7, 00000000:07:00.0\n8, 00000000:0F:00.0\n[N/A]\n", "")
    machine = host(which={"nvidia-smi": "/usr/bin/nvidia-smi"}, commands={_SMI: rows})
    assert nvidia_gpus(machine) == {7: ("00000000:07:00.0",), 8: ("00000000:0f:00.0",)}
