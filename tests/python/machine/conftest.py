"""Invented machines: trees of /sys and /proc, built file by file where no recording exists."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.replay_host import Recording, ReplayHost

DATA = Path(__file__).parents[2] / "data" / "machines"
Build = Callable[..., ReplayHost]


@pytest.fixture
def debian12() -> ReplayHost:
    return ReplayHost.load(DATA / "debian12.json")


@pytest.fixture
def betzy_xml() -> str:
    return (DATA / "betzy.xml").read_text()


@pytest.fixture
def host_with() -> Build:
    def build(files: dict[str, str], **other: object) -> ReplayHost:
        return ReplayHost(Recording(files=files, **other))  # type: ignore[arg-type]

    return build


@pytest.fixture
def cpu_tree() -> Callable[..., dict[str, str]]:
    return _cpu_tree


def _cpu_tree(
    *, packages: int, cores_per_package: int, threads: int = 1, allowed: str = ""
) -> dict[str, str]:
    """Sibling threads stand one whole machine apart, as on most servers; one NUMA node a package."""
    cores = packages * cores_per_package
    count = cores * threads
    files = {
        "/sys/devices/system/cpu/online": f"0-{count - 1}\n",
        "/proc/self/status": f"Name:\tx\nCpus_allowed_list:\t{allowed or f'0-{count - 1}'}\n",
        "/proc/cpuinfo": "flags : sse sse2\nvendor_id : GenuineIntel\nmodel name : made up\n",
    }
    for pu in range(count):
        core = pu % cores
        package = core // cores_per_package
        base = f"/sys/devices/system/cpu/cpu{pu}"
        siblings = ",".join(str(core + cores * thread) for thread in range(threads))
        files[f"{base}/topology/thread_siblings_list"] = siblings + "\n"
        files[f"{base}/topology/physical_package_id"] = f"{package}\n"
        files[f"{base}/cache/index0/level"] = "2\n"
        files[f"{base}/cache/index0/type"] = "Unified\n"
        files[f"{base}/cache/index0/size"] = "1024K\n"
        files[f"{base}/cache/index0/coherency_line_size"] = "64\n"
        files[f"{base}/cache/index0/shared_cpu_list"] = siblings + "\n"
    for package in range(packages):
        first = package * cores_per_package
        ranges = [
            f"{first + thread * cores}-{first + thread * cores + cores_per_package - 1}"
            for thread in range(threads)
        ]
        node = f"/sys/devices/system/node/node{package}"
        files[f"{node}/cpulist"] = ",".join(ranges) + "\n"
        files[f"{node}/meminfo"] = f"Node {package} MemTotal:       67108864 kB\n"
        files[f"{node}/distance"] = " ".join("10" if p == package else "21" for p in range(packages)) + "\n"
    return files
