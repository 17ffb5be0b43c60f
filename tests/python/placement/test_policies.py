"""Placement policies on machines of every shape."""

import pytest
from tests.support.machines import cores_of, made_up, placed, recorded

from mpiric.model.errors import MpiricError
from mpiric.model.placement import HardwareThreads
from mpiric.placement import policies

SHAPES = {
    "betzy": recorded("betzy"),
    "laptop": recorded("laptop"),
    "gpu_node": recorded("gpu_node"),
    "unequal": made_up(4, 8),
    "one core": made_up(1, smt=2),
}


@pytest.mark.parametrize("mode", list(HardwareThreads))
@pytest.mark.parametrize("policy", policies())
@pytest.mark.parametrize("shape", SHAPES)
def test_no_hardware_thread_is_given_away_twice(shape, policy, mode):
    for ranks, threads in [(1, 1), (2, 1), (3, 2), (4, 3), (8, 1), (8, 0)]:
        try:
            plan = placed(SHAPES[shape], ranks, threads=threads, policy=policy, hardware_threads=mode)
        except MpiricError:
            continue  # combinations that do not fit are tested elsewhere
        assigned = [pu for seat in plan.seats for thread in seat.threads for pu in thread]
        assert len(assigned) == len(set(assigned))
        assert all(thread for seat in plan.seats for thread in seat.threads)
        assert len(plan.ranks) == ranks


def test_compact_fills_cores_side_by_side():
    assert cores_of(placed(made_up(4, 4), 3, threads=2, policy="compact")) == [[0, 1], [2, 3], [4, 5]]


def test_compact_keeps_a_rank_inside_of_a_numa_node_while_there_is_room():
    assert cores_of(placed(made_up(4, 4), 2, threads=3, policy="compact")) == [[0, 1, 2], [4, 5, 6]]


def test_compact_says_when_a_rank_must_straddle_numa_nodes():
    plan = placed(made_up(4, 4), 2, threads=4, policy="compact", leave_cores=0)
    assert not plan.notes
    straddling = placed(made_up(3, 3), 2, threads=2, policy="compact", nodes=1)
    assert cores_of(straddling) == [[0, 1], [3, 4]]
    wide = placed(made_up(3, 3), 1, threads=4, policy="compact", nodes=1)
    assert any("several NUMA nodes" in note for note in wide.notes)


def test_spread_goes_as_far_apart_as_the_node_allows():
    assert cores_of(placed(made_up(8, 8), 4)) == [[0], [4], [8], [12]]


def test_spread_keeps_the_threads_of_a_rank_in_one_cache():
    plan = placed(recorded("betzy"), 8, threads=4)
    assert cores_of(plan)[:2] == [[0, 1, 2, 3], [16, 17, 18, 19]]


def test_per_numa_and_per_socket_pack_inside_of_the_domain():
    assert cores_of(placed(made_up(4, 4), 4, policy="per-numa")) == [[0], [1], [4], [5]]
    assert cores_of(placed(made_up(4, 4), 4, policy="per-socket")) == [[0], [1], [4], [5]]


def test_per_cache_gives_each_shared_cache_as_many():
    plan = placed(recorded("betzy"), 32, policy="per-cache")
    assert [cores[0] for cores in cores_of(plan)][:3] == [0, 4, 8]


def test_unequal_numa_nodes_get_ranks_in_proportion():
    plan = placed(made_up(4, 8), 6, policy="per-numa")
    assert [seat.numa for seat in plan.seats] == [0, 0, 1, 1, 1, 1]


def test_whole_node_works_out_the_threads_of_a_hybrid_split():
    plan = placed(recorded("betzy"), 8, policy="whole-node")
    assert plan.threads == 16
    assert cores_of(plan)[1] == list(range(16, 32))


def test_ranks_sit_near_the_gpu_they_use():
    plan = placed(recorded("gpu_node"), 4, threads=8)
    assert plan.policy == "near-gpu"
    assert [(seat.gpu, seat.numa) for seat in plan.seats] == [(0, 0), (1, 0), (2, 1), (3, 1)]


def test_several_ranks_share_a_gpu_with_their_neighbours():
    plan = placed(recorded("gpu_node"), 8)
    assert [seat.gpu for seat in plan.seats] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_the_display_adapter_of_the_console_is_not_a_gpu():
    assert len(placed(recorded("gpu_node"), 1).gpus) == 4


def test_performance_cores_are_used_alone_while_they_suffice():
    plan = placed(recorded("laptop"), 6)
    assert {core.kind for seat in plan.seats for core in seat.cores} == {"performance"}
    assert any("efficiency cores stay free" in note for note in plan.notes)


def test_performance_cores_are_used_before_efficiency_cores():
    plan = placed(recorded("laptop"), 8, nodes=1)
    kinds = [core.kind for seat in plan.seats for core in seat.cores]
    assert kinds == ["performance"] * 6 + ["efficiency"] * 2
    assert any("some threads run on efficiency cores" in note for note in plan.notes)


def test_an_unknown_policy_is_refused_with_the_known_names():
    with pytest.raises(MpiricError) as refused:
        placed(made_up(4), 1, policy="best")
    assert "compact" in refused.value.hint
