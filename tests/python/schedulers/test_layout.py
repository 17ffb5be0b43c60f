from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiric.model.batch import NodeShape
from mpiric.model.errors import MpiricError
from mpiric.schedulers import LayoutRequest, plan_layout

BETZY = NodeShape(2, 64, 2)


def test_pure_mpi_puts_a_rank_on_every_core():
    layout = plan_layout(LayoutRequest(ranks=4096), BETZY)
    assert (layout.nodes, layout.ranks_per_node) == (32, 128)


def test_hybrid_fills_the_node_with_threads():
    layout = plan_layout(LayoutRequest(nodes=1200, threads=16), BETZY)
    assert (layout.ranks, layout.ranks_per_node, layout.kind) == (9600, 8, "hybrid")


def test_bandwidth_bound_takes_every_second_core():
    layout = plan_layout(LayoutRequest(nodes=1, bandwidth_bound=True), BETZY)
    assert (layout.ranks_per_node, layout.cores_per_rank) == (64, 2)


def test_ranks_are_spread_evenly_over_the_nodes_asked_for():
    assert plan_layout(LayoutRequest(nodes=3, ranks=10), BETZY).ranks_per_node == 4


def test_ranks_that_do_not_fit_are_an_error_that_says_how_many_nodes_would_do():
    with pytest.raises(MpiricError) as caught:
        plan_layout(LayoutRequest(nodes=2, ranks=300), BETZY)
    assert caught.value.hint == "they need 3 nodes"


def test_more_threads_than_cores_are_an_error():
    with pytest.raises(MpiricError, match="129 threads do not fit"):
        plan_layout(LayoutRequest(threads=129), BETZY)


@given(
    st.builds(
        LayoutRequest,
        nodes=st.integers(0, 50),
        ranks=st.integers(0, 5000),
        ranks_per_node=st.integers(0, 130),
        threads=st.integers(1, 130),
        bandwidth_bound=st.booleans(),
    ),
    st.builds(NodeShape, st.integers(1, 4), st.integers(1, 64), st.integers(1, 2)),
)
def test_no_core_is_given_twice_and_every_rank_has_a_place(wish, shape):
    try:
        layout = plan_layout(wish, shape)
    except MpiricError:
        return
    assert layout.ranks_per_node * layout.cores_per_rank <= shape.cores
    assert 1 <= layout.ranks <= layout.nodes * layout.ranks_per_node
    assert layout.threads_per_rank <= layout.cores_per_rank


def sockets_of(layout, shape):
    """Sockets of each rank of a full node, as Slurm's block and cyclic distributions fill them."""
    cores, size = layout.cores_per_rank, shape.cores_per_socket
    if layout.alternates:
        return [{rank % shape.sockets} for rank in range(layout.ranks_per_node)]
    return [
        {core // size for core in range(rank * cores, (rank + 1) * cores)}
        for rank in range(layout.ranks_per_node)
    ]


@given(st.integers(1, 4), st.integers(1, 64), st.integers(1, 256), st.integers(1, 64), st.booleans())
def test_sockets_are_filled_evenly(sockets, cores, per_node, threads, bandwidth_bound):
    shape = NodeShape(sockets, cores)
    request = LayoutRequest(ranks_per_node=per_node, threads=threads, bandwidth_bound=bandwidth_bound)
    try:
        layout = plan_layout(request, shape)
    except MpiricError:
        return
    if cores < layout.cores_per_rank * -(-per_node // sockets):
        return  # wider than a part of a socket: some ranks have cores of two
    sockets_of_ranks = sockets_of(layout, shape)
    assert all(len(one) == 1 for one in sockets_of_ranks)
    assert max(Counter(socket for one in sockets_of_ranks for socket in one).values()) <= -(
        -per_node // sockets
    )


def test_a_half_filled_node_uses_both_sockets_and_keeps_neighbours_together():
    layout = plan_layout(LayoutRequest(ranks_per_node=16), BETZY)
    assert (layout.cores_per_rank, layout.alternates) == (8, False)
    assert layout.kind == "pure MPI"
    narrow = plan_layout(LayoutRequest(ranks_per_node=100), BETZY)
    assert (narrow.cores_per_rank, narrow.alternates) == (1, True)


def test_neighbours_in_rank_share_a_gpu():
    layout = plan_layout(LayoutRequest(ranks_per_node=8, gpus_per_node=4), BETZY)
    assert layout.gpu_of_rank == (0, 0, 1, 1, 2, 2, 3, 3)
    assert plan_layout(LayoutRequest(ranks_per_node=2, gpus_per_node=4), BETZY).gpu_of_rank == (0, 2)
    assert plan_layout(LayoutRequest(ranks_per_node=2), BETZY).gpu_of_rank == ()
