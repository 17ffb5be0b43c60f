"""A container with 2 of 64 cores is a 2-core machine, by whichever means it is one."""

from mpiric.machine import notice, read_machine
from mpiric.model.machine import Machine

V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n"
V1_MOUNTS = (
    "31 23 0:27 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
    "32 23 0:28 /docker/abc /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n"
    "33 23 0:29 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
)
V1_GROUPS = "5:memory:/docker/abc\n4:cpuset:/docker/abc\n3:cpu,cpuacct:/docker/abc\n"


def _machine(host_with, cpu_tree, allowed: str = "", **files: str) -> Machine:
    tree = cpu_tree(packages=1, cores_per_package=64, allowed=allowed)
    tree["/proc/meminfo"] = "MemTotal:  268435456 kB\nMemAvailable:  200000000 kB\n"
    return read_machine(host_with(tree | files), "/")


def _v2(**limits: str) -> dict[str, str]:
    return {
        "/proc/self/cgroup": "0::/\n",
        "/proc/self/mountinfo": V2_MOUNT,
        **{f"/sys/fs/cgroup/{name}": text + "\n" for name, text in limits.items()},
    }


def test_affinity_alone_makes_a_small_machine(host_with, cpu_tree):
    machine = _machine(host_with, cpu_tree, allowed="6-7")
    assert machine.usable_pus == (6, 7)
    assert machine.usable_cpu_count == 2


def test_version_2_quota_counts(host_with, cpu_tree):
    machine = _machine(host_with, cpu_tree, **_v2(**{"cpu.max": "200000 100000"}))
    assert machine.limits.cgroup_cpus == 2.0
    assert machine.usable_cpu_count == 2


def test_version_2_cpuset_counts(host_with, cpu_tree):
    machine = _machine(host_with, cpu_tree, **_v2(**{"cpuset.cpus.effective": "10-11"}))
    assert machine.usable_pus == (10, 11)


def test_version_2_without_limits_is_the_whole_machine(host_with, cpu_tree):
    machine = _machine(host_with, cpu_tree, **_v2(**{"cpu.max": "max 100000", "memory.max": "max"}))
    assert machine.usable_cpu_count == 64
    assert machine.memory.limit_bytes == 0


def test_version_2_memory_limit_is_read(host_with, cpu_tree):
    machine = _machine(host_with, cpu_tree, **_v2(**{"memory.max": str(4 << 30)}))
    assert machine.memory.limit_bytes == 4 << 30


def test_the_tightest_limit_on_the_way_up_counts(host_with, cpu_tree):
    files = {
        "/proc/self/cgroup": "0::/job/step\n",
        "/proc/self/mountinfo": V2_MOUNT,
        "/sys/fs/cgroup/job/cpu.max": "200000 100000\n",
        "/sys/fs/cgroup/job/step/cpu.max": "800000 100000\n",
    }
    assert _machine(host_with, cpu_tree, **files).limits.cgroup_cpus == 2.0


def test_version_1_quota_is_read_where_the_container_sees_it(host_with, cpu_tree):
    files = {
        "/proc/self/cgroup": V1_GROUPS,
        "/proc/self/mountinfo": V1_MOUNTS,
        "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "200000\n",
        "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
    }
    assert _machine(host_with, cpu_tree, **files).usable_cpu_count == 2


def test_version_1_cpuset_and_memory_are_read(host_with, cpu_tree):
    files = {
        "/proc/self/cgroup": V1_GROUPS,
        "/proc/self/mountinfo": V1_MOUNTS,
        "/sys/fs/cgroup/cpuset/cpuset.effective_cpus": "0,32\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": f"{8 << 30}\n",
    }
    machine = _machine(host_with, cpu_tree, **files)
    assert machine.usable_pus == (0, 32)
    assert machine.memory.limit_bytes == 8 << 30


def test_version_1_writes_no_limit_as_minus_one_and_a_huge_number(host_with, cpu_tree):
    files = {
        "/proc/self/cgroup": V1_GROUPS,
        "/proc/self/mountinfo": V1_MOUNTS,
        "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
        "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    }
    machine = _machine(host_with, cpu_tree, **files)
    assert machine.usable_cpu_count == 64
    assert machine.memory.limit_bytes == 0


def test_half_a_cpu_is_still_one(host_with, cpu_tree):
    machine = _machine(host_with, cpu_tree, **_v2(**{"cpu.max": "50000 100000"}))
    assert machine.usable_cpu_count == 1


def test_the_restriction_is_reported_in_words(host_with, cpu_tree):
    machine = _machine(host_with, cpu_tree, allowed="0-1", **_v2(**{"memory.max": str(4 << 30)}))
    assert {"restricted-cpus", "memory-limit"} <= {finding.id for finding in notice(machine)}


def test_docker_is_recognised_by_its_mark(host_with, cpu_tree):
    assert _machine(host_with, cpu_tree, **{"/.dockerenv": ""}).container == "docker"
