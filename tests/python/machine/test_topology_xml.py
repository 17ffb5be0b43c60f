import pytest

from mpiric.machine import read_topology
from mpiric.model.errors import MpiricError

HYBRID = """<topology version="2.0"><object type="Machine" os_index="0" cpuset="0x0000003f">
<object type="Package" os_index="0" cpuset="0x0000003f">
<object type="NUMANode" os_index="0" cpuset="0x0000003f" local_memory="17179869184"/>
<object type="Core" os_index="0" cpuset="0x00000003">
<object type="PU" os_index="0"/><object type="PU" os_index="1"/></object>
<object type="Core" os_index="4" cpuset="0x0000000c">
<object type="PU" os_index="2"/><object type="PU" os_index="3"/></object>
<object type="Core" os_index="8" cpuset="0x00000010"><object type="PU" os_index="4"/></object>
<object type="Core" os_index="9" cpuset="0x00000020"><object type="PU" os_index="5"/></object>
</object></object>
<cpukind cpuset="0x00000030"><info name="CoreType" value="IntelAtom"/></cpukind>
<cpukind cpuset="0x0000000f"><info name="CoreType" value="IntelCore"/></cpukind></topology>"""


def test_betzys_node_has_128_cores_of_two_threads(betzy_xml: str):
    topology = read_topology(betzy_xml)
    assert len(topology.cores) == 128
    assert {len(core.pus) for core in topology.cores} == {2}


def test_betzys_core_0_is_pu_0_and_128(betzy_xml: str):
    assert read_topology(betzy_xml).cores[0].pus == (0, 128)


def test_betzys_cores_know_package_and_numa_node(betzy_xml: str):
    core = read_topology(betzy_xml).cores[127]
    assert (core.package, core.numa_node, core.pus) == (1, 7, (127, 255))


def test_betzys_l3_caches_are_shared_by_four_cores(betzy_xml: str):
    caches = [cache for cache in read_topology(betzy_xml).caches if cache.level == 3]
    assert len(caches) == 32
    assert caches[0].pus == (0, 1, 2, 3, 128, 129, 130, 131)
    assert caches[0].size_bytes == 16 << 20


def test_distances_come_in_several_chunks(betzy_xml: str):
    assert read_topology(betzy_xml).numa_nodes[5].distances == (32, 32, 32, 32, 12, 10, 12, 12)


def test_hybrid_cores_are_distinguished():
    assert [core.kind for core in read_topology(HYBRID).cores] == [
        "performance",
        "performance",
        "efficiency",
        "efficiency",
    ]


def test_equal_cores_have_no_kind(betzy_xml: str):
    assert {core.kind for core in read_topology(betzy_xml).cores} == {""}


WRONG = [
    HYBRID.replace('type="PU" os_index="3"', f'type="PU" os_index="{number}"')
    for number in ("three", "-3", "99999999", "2", "")
]
DEEP = f"<topology version='2.0'>{'<object>' * 5000}{'</object>' * 5000}</topology>"


@pytest.mark.parametrize("text", ["", "<a", "<topology version='1.0'/>", "<html/>", DEEP, *WRONG])
def test_anything_else_is_refused_with_a_hint(text: str):
    with pytest.raises(MpiricError) as error:
        read_topology(text)
    assert error.value.hint
