from dataclasses import replace

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.machine.topology import read_sysfs_topology, topology_of


def test_two_sockets_with_smt_are_read_without_hwloc(host_with, cpu_tree):
    topology = topology_of(host_with(cpu_tree(packages=2, cores_per_package=4, threads=2)))
    assert topology.packages == (0, 1)
    assert len(topology.cores) == 8
    assert topology.cores[5].pus == (5, 13)
    assert topology.cores[5].numa_node == 1


def test_memory_and_distances_of_numa_nodes_are_read(host_with, cpu_tree):
    node = topology_of(host_with(cpu_tree(packages=2, cores_per_package=2))).numa_nodes[1]
    assert node.memory_bytes == 64 << 30
    assert node.distances == (21, 10)


def test_a_cache_shared_by_siblings_counts_once(host_with, cpu_tree):
    topology = topology_of(host_with(cpu_tree(packages=1, cores_per_package=2, threads=2)))
    assert [cache.pus for cache in topology.caches] == [(0, 2), (1, 3)]
    assert topology.caches[0].size_bytes == 1 << 20


def test_offline_cpus_are_left_out(host_with, cpu_tree):
    files = cpu_tree(packages=1, cores_per_package=4, threads=2) | {"/sys/devices/system/cpu/online": "0-3\n"}
    assert topology_of(host_with(files)).pus == (0, 1, 2, 3)


def test_efficiency_cores_are_known_from_the_kernels_pmu(host_with, cpu_tree):
    files = cpu_tree(packages=1, cores_per_package=4) | {"/sys/devices/cpu_atom/cpus": "2-3\n"}
    kinds = [core.kind for core in topology_of(host_with(files)).cores]
    assert kinds == ["performance", "performance", "efficiency", "efficiency"]


def test_a_machine_that_shows_nothing_still_has_a_core(host_with):
    assert len(topology_of(host_with({})).cores) == 1


@pytest.mark.requires("libhwloc.so.15")
def test_hwloc_and_the_kernel_agree_on_this_machine():
    by_hwloc, by_kernel = topology_of(LocalHost()), read_sysfs_topology(LocalHost())
    assert {core.pus for core in by_hwloc.cores} == {core.pus for core in by_kernel.cores}
    assert {replace(cache, line_bytes=0) for cache in by_hwloc.caches} == {
        replace(cache, line_bytes=0) for cache in by_kernel.caches
    }


def test_the_recorded_machine_is_read_from_hwlocs_xml(debian12):
    by_hwloc = topology_of(debian12)
    assert by_hwloc.xml
    assert [core.pus for core in by_hwloc.cores] == [(0,), (1,)]
