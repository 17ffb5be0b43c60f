"""Affinity, control groups, cores for the system, and jobs that do not fit."""

import pytest
from tests.support.machines import cores_of, made_up, placed, recorded

from mpiric.model.errors import MpiricError
from mpiric.model.placement import HardwareThreads, PlacementRequest
from mpiric.placement import plan


def test_only_hardware_threads_of_the_affinity_are_used():
    placement = placed(made_up(4, 4), 2, usable=(2, 3, 4, 5))
    assert cores_of(placement) == [[2], [4]]
    assert any("outside the affinity mask" in note for note in placement.notes)


def test_a_core_of_which_one_hardware_thread_is_allowed_is_used_in_part():
    assert placed(made_up(2, smt=2), 1, usable=(0, 1, 3), nodes=1).seats[0].pus == (0,)


def test_a_control_group_that_grants_less_time_is_named():
    placement = plan(made_up(4), PlacementRequest(ranks=4), (), 1.5)
    assert any("1.5 CPUs" in note for note in placement.notes)


def test_cores_left_to_the_system_come_from_the_fullest_numa_nodes():
    placement = placed(made_up(4, 4), 6, leave_cores=2, nodes=1)
    assert [core.index for core in placement.idle_cores] == [3, 7]


def test_as_many_nodes_as_needed_are_taken():
    placement = placed(recorded("betzy"), 4096)
    assert (placement.nodes, placement.ranks_per_node) == (32, 128)
    assert placement.ranks[4095].node == 31


def test_the_last_node_may_be_less_full():
    placement = placed(made_up(4), 6, nodes=2)
    assert [place.node for place in placement.ranks] == [0, 0, 0, 1, 1, 1]
    assert [place.node for place in placed(made_up(4), 7, nodes=2).ranks] == [0, 0, 0, 0, 1, 1, 1]


def test_more_threads_than_cores_share_out_hardware_threads_when_nodes_are_fixed():
    placement = placed(made_up(4, smt=2), 8, nodes=1)
    assert sorted(pu for seat in placement.seats for pu in seat.pus) == list(range(8))
    assert any("one hardware thread" in note for note in placement.notes)


def test_a_job_that_does_not_fit_is_refused_with_the_nodes_it_needs():
    with pytest.raises(MpiricError) as refused:
        placed(made_up(4), 9, nodes=2)
    assert "--nodes 3" in refused.value.hint


def test_a_rank_wider_than_a_node_is_refused():
    with pytest.raises(MpiricError):
        placed(made_up(4), 1, threads=5)


def test_a_single_hardware_thread_a_core_means_the_first():
    placement = placed(made_up(2, smt=2), 2, hardware_threads=HardwareThreads.ONE)
    assert [seat.pus for seat in placement.seats] == [(0,), (1,)]


def test_ranks_on_all_hardware_threads_sit_on_each():
    placement = placed(made_up(2, smt=2), 4, hardware_threads=HardwareThreads.ALL)
    assert [seat.pus for seat in placement.seats] == [(0,), (2,), (1,), (3,)]


def test_second_hardware_threads_add_no_bandwidth_and_are_refused():
    with pytest.raises(MpiricError):
        placed(made_up(4, smt=2), 2, bandwidth_bound=True, hardware_threads=HardwareThreads.ALL)


def test_nodes_without_names_are_refused_where_others_are_named():
    with pytest.raises(MpiricError):
        placed(made_up(4), 4, nodes=3, hosts=("a", "b"))
