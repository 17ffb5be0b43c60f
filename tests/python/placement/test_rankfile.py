"""A rankfile describes its placement plan; files that do not are refused."""

import pytest
from tests.support.machines import made_up, placed, recorded

from mpiric.launchers import emit
from mpiric.launchers._emission import whole_cores
from mpiric.launchers._openmpi import rankfile
from mpiric.launchers.openmpi5 import _units
from mpiric.model.errors import MpiricError
from mpiric.model.machine import pu_list
from mpiric.model.placement import HardwareThreads
from mpiric.placement.rankfile import Numbers, plan_rankfile, read_rankfile

WISHES = [
    {"ranks": 10, "threads": 3, "policy": "compact"},
    {"ranks": 6, "threads": 2, "bandwidth_bound": True},
    {"ranks": 3, "threads": 2, "hardware_threads": HardwareThreads.ONE},
    {"ranks": 4, "threads": 3, "nodes": 2, "hosts": ("a", "b"), "policy": "compact"},
]


@pytest.mark.parametrize("machine", ["betzy", "laptop", "gpu_node"])
@pytest.mark.parametrize("wish", WISHES, ids=["compact", "bandwidth", "one", "two nodes"])
@pytest.mark.parametrize("physical", [True, False], ids=["of the kernel", "of hwloc"])
def test_written_data_are_read_back(machine, wish, physical):
    topology = recorded(machine)
    plan = placed(topology, **wish)
    logical = Numbers.CORES if whole_cores(plan) else Numbers.HARDWARE_THREADS
    text = rankfile(plan, lambda seat: pu_list(seat.pus if physical else _units(plan, seat)))
    numbers = Numbers.KERNEL if physical else logical
    (again,) = plan_rankfile(topology, read_rankfile(text), numbers, plan.threads)
    assert [seat.pus for seat in again.seats] == [seat.pus for seat in plan.seats]
    assert again.nodes == plan.nodes
    assert [word for word in emit(again, "srun").argv if "mask" in word] == [
        word for word in emit(plan, "srun").argv if "mask" in word
    ]


def test_sockets_lists_and_stars():
    two = made_up(4, 4)
    text = "rank 1 = n1 slot=1:0,2 # far\nrank 0=n1 slot=0-1\n\nrank 2=n1 slots=1:*"
    (plan,) = plan_rankfile(two, read_rankfile(text), Numbers.CORES, threads=1)
    assert [seat.pus for seat in plan.seats] == [(0, 1), (4, 6), (4, 5, 6, 7)]
    assert [seat.numa for seat in plan.seats] == [0, 1, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not name every rank"),
        ("rank 1=n1 slot=0", "does not name every rank"),
        ("rank zero=n1 slot=0", "cannot read line 1"),
        ("rank 0=n1 slot=9", "the machine has 8 cores"),
        ("rank 0=n1 slot=a", "cannot read slot"),
        ("rank 0=n1 slot=3-1", "ends before it begins"),
        ("rank 0=n1 slot=0\nrank 0=n1 slot=1", "line 2 of the rankfile names rank 0 again"),
        ("rank 0=+n0 slot=0\nrank 1=+n1 slot=1", "only numbered"),
        ("rank 0=n1 slot=0\nrank 1=n2 slot=0\nrank 2=n1 slot=1", "ranks of n1 are not consecutive"),
        ("rank 0=n1 slot=0\nrank 1=n2 slot=1-2", "different numbers of cores"),
        ("rank 0=n1 slot=0\nrank 1=n1 slot=1-2", "different numbers of cores"),
    ],
)
def test_unsupported_parts_of_a_rankfile_are_refused_by_name(text, message):
    with pytest.raises(MpiricError, match=message):
        plan_rankfile(made_up(4, 4), read_rankfile(text), Numbers.CORES)
