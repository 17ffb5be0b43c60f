from benchmarks.collective_cost import own_instructions

PROFILE = """events: Ir
ob=(1) /usr/lib/libmpi.so
fn=(1) PMPI_Allreduce
10 1000
ob=(2) /x/libmpiric.so
fn=(2) allreduce
20 3
+2 4
cob=(1)
cfn=(1)
calls=1 10
+1 1000
* 5
ob=(1)
fn=(3) PMPI_Bcast
11 700
ob=(2)
fn=(2)
21 6
"""


def test_instructions_are_counted_for_one_object_without_its_callees() -> None:
    assert own_instructions(PROFILE, "libmpiric") == 3 + 4 + 5 + 6
