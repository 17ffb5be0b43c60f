import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.machine import load_topology, notice, read_machine
from mpiric.model.errors import MpiricError, NotFoundError


def test_the_recorded_machine_is_read_without_being_there(debian12):
    machine = read_machine(debian12, "/home/user/run")
    assert machine.system == "Debian GNU/Linux 12 (bookworm)"
    assert machine.libc == "glibc 2.36"
    assert machine.usable_cpu_count == 2
    assert machine.cpu.generic == "x86_64_v3"
    assert machine.memory.pages.transparent == "madvise"


def test_the_recorded_compilers_and_libraries_are_found(debian12):
    machine = read_machine(debian12, "/home/user/run")
    assert {"gcc", "g++", "gfortran"} <= {compiler.name for compiler in machine.compilers}
    assert [name for name, _ in machine.preloads] == ["jemalloc", "tcmalloc", "mimalloc"]
    assert [name for name, _ in machine.blas_libraries] == ["openblas-pthread"]


def test_a_machine_that_shows_nothing_is_still_a_machine(host_with):
    machine = read_machine(host_with({}), "/")
    assert machine.usable_cpu_count == 1
    assert notice(machine) == () or all(finding.says for finding in notice(machine))


def test_the_machine_can_be_read_by_any_user(tmp_path):
    machine = read_machine(LocalHost(), str(tmp_path))
    assert machine.usable_cpu_count >= 1
    assert set(machine.usable_pus) <= set(machine.topology.pus)
    assert machine.memory.total_bytes > 0


def test_smt_and_its_cost_are_mentioned(host_with, cpu_tree):
    machine = read_machine(host_with(cpu_tree(packages=2, cores_per_package=8, threads=2)), "/")
    assert "smt" in {finding.id for finding in notice(machine)}


def test_little_locked_memory_is_mentioned(host_with):
    limits = "Max locked memory         65536                65536                bytes\n"
    machine = read_machine(host_with({"/proc/self/limits": limits}), "/")
    assert machine.limits.locked_memory_bytes == 65536
    assert "locked-memory" in {finding.id for finding in notice(machine)}


def test_a_topology_file_of_another_machine_is_shown(host_with, betzy_xml):
    topology = load_topology(host_with({"betzy.xml": betzy_xml}), "betzy.xml")
    assert len(topology.pus) == 256


def test_a_missing_topology_file_is_named(host_with):
    with pytest.raises(NotFoundError, match=r"node\.xml"):
        load_topology(host_with({}), "node.xml")


def test_a_synthetic_topology_needs_hwloc_and_says_so(host_with):
    with pytest.raises(NotFoundError, match="libhwloc"):
        load_topology(host_with({}), "pack:2 core:4")


@pytest.mark.requires("libhwloc.so.15")
def test_a_synthetic_topology_is_understood():
    topology = load_topology(LocalHost(), "pack:2 core:4 pu:2")
    assert (len(topology.packages), len(topology.cores), len(topology.pus)) == (2, 8, 16)


@pytest.mark.requires("libhwloc.so.15")
def test_nonsense_is_refused_with_an_example():
    with pytest.raises(MpiricError) as error:
        load_topology(LocalHost(), "quux:3")
    assert "pack:2" in error.value.hint
