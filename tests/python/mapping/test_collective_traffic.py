"""Traffic of collective calls between ranks: expected numbers for each kind of algorithm."""

import numpy as np
import pytest
from tests.support.records import CLASSES, rank

from mpiric.mapping.collective_algorithms import ALGORITHMS
from mpiric.mapping.collective_traffic import collective_traffic
from mpiric.model.record import CallCell, CommunicatorRow, Record

EVERY = [(collective, name) for collective, algorithms in ALGORITHMS.items() for name in algorithms]


def matrix(collective: str, name: str, ranks: int, size: float) -> np.ndarray:
    messages, sent = ALGORITHMS[collective][name](ranks, size), np.zeros((ranks, ranks))
    np.add.at(sent, (messages.sources, messages.targets), messages.bytes)
    return sent


@pytest.mark.parametrize(("collective", "name"), EVERY)
@pytest.mark.parametrize("ranks", [2, 3, 4, 7, 8, 12])
def test_all_ranks_take_part_and_none_sends_to_itself(collective, name, ranks):
    sent = matrix(collective, name, ranks, 8.0)
    assert not sent.diagonal().any()
    assert ((sent + sent.T).sum(axis=1) > 0).all()


@pytest.mark.parametrize("name", ["ring", "recursive_doubling", "brucks", "neighbor", "linear"])
@pytest.mark.parametrize("ranks", [4, 8])
def test_every_rank_gets_the_parts_of_all_others_in_an_allgather(name, ranks):
    received = matrix("allgather", name, ranks, 10.0).sum(axis=0)
    assert received.tolist() == [10.0 * (ranks - 1)] * ranks


def test_a_ring_reduction_passes_the_vector_on_nearly_twice():
    assert matrix("allreduce", "ring", 4, 100.0)[2].tolist() == [0, 0, 0, 150.0]


def test_halving_and_doubling_sends_most_to_the_nearest():
    sent = matrix("allreduce", "rabenseifner", 8, 80.0)[0]
    assert sent.tolist() == [0, 80, 40, 0, 20, 0, 0, 0]


def test_a_bine_butterfly_sends_over_the_distances_1_1_3():
    sent = matrix("allreduce", "bine", 8, 80.0)
    assert sent[0].tolist() == [0, 80, 0, 20, 0, 0, 0, 40]
    assert sent[1].tolist() == [80, 0, 40, 0, 0, 0, 20, 0]


def test_a_bine_tree_halves_the_distances_1_1_3():
    sent = matrix("bcast", "bine", 8, 1.0)
    assert [row.nonzero()[0].tolist() for row in sent] == [[1, 3, 7], [], [], [2, 4], [5], [], [], [6]]


@pytest.mark.parametrize(
    ("collective", "name", "usual"),
    [
        ("bcast", "bine", "binomial"),
        ("reduce", "bine", "binomial"),
        ("allreduce", "bine_doubling", "recursive_doubling"),
    ],
)
def test_bine_sends_fewer_bytes_out_of_groups_of_any_size(collective, name, usual):
    sizes = np.random.default_rng(1).integers(1, 40, 256)
    group = np.repeat(np.arange(256), sizes)[:256]
    leaves = group[:, None] != group
    bine, other = (matrix(collective, form, 256, 1.0)[leaves].sum() for form in (name, usual))
    assert bine < other


def test_halving_sends_most_to_the_farthest():
    assert matrix("reduce_scatter", "recursive_halving", 8, 80.0)[0].tolist() == [0, 10, 20, 0, 40, 0, 0, 0]


def test_ranks_beyond_a_power_of_two_hand_over_to_a_neighbour():
    sent = matrix("allreduce", "recursive_doubling", 5, 8.0)
    assert sent[0].tolist() == [0, 8, 0, 0, 0]
    assert sent[1].tolist() == [8, 0, 8, 8, 0]


def test_an_inner_rank_of_a_gather_tree_passes_its_subtree_on():
    sent = matrix("gather", "binomial", 8, 1.0)
    assert (sent[4, 0], sent[6, 4], sent[7, 6]) == (4, 2, 1)


def cells(function: str, calls: int, bytes_: int, size_bin: int = 4) -> CallCell:
    return CallCell(function, 0, 0, size_bin, calls, bytes_, calls, 1.0, 0.0, 0.0, 0.0, (0,) * 32)


def recorded(function: str, groups: list[list[int]], bytes_: list[int], **facts: str) -> Record:
    ranks = []
    for number in range(len(bytes_)):
        group = next(group_of_ranks for group_of_ranks in groups if number in group_of_ranks)
        row = CommunicatorRow(
            hash(tuple(group)), 0, len(group), group.index(number), 0, False, False, False, "c"
        )
        cell = cells(function, 10, bytes_[number])
        ranks.append(rank(number, 1.0, cell, communicators=(row,), facts={"host": "n", **facts}))
    return Record(len(bytes_), CLASSES, tuple(ranks))


def pairs(record: Record) -> dict[tuple[int, int], float]:
    traffic = collective_traffic(record)
    sums: dict[tuple[int, int], float] = {}
    for source, target, size in zip(traffic.sources, traffic.targets, traffic.bytes, strict=True):
        sums[int(source), int(target)] = sums.get((int(source), int(target)), 0) + float(size)
    return sums


def test_ranks_of_a_communicator_are_those_of_the_world():
    record = recorded("MPI_Alltoall", [[3, 1], [2, 0]], [80, 80, 80, 80])
    assert pairs(record) == {(1, 3): 40, (3, 1): 40, (0, 2): 40, (2, 0): 40}


def test_each_rank_sends_its_own_sizes_in_an_alltoallv():
    record = recorded("MPI_Ialltoallv", [[0, 1], [2, 3]], [60, 20, 0, 0])
    assert {pair: size for pair, size in pairs(record).items() if size} == {(0, 1): 30, (1, 0): 10}


def test_the_algorithm_that_the_library_reports_counts():
    groups, facts = [[0, 1, 2, 3], [4]], {"mpi.family": "openmpi"}
    ring = recorded("MPI_Allreduce", groups, [80] * 5, **{"library.allreduce": "ring", **facts})
    tree = recorded("MPI_Allreduce", groups, [80] * 5, **{"library.allreduce": "nonoverlapping", **facts})
    assert pairs(ring) == {(0, 1): 120, (1, 2): 120, (2, 3): 120, (3, 0): 120}
    assert pairs(tree)[2, 0] == 80
    assert collective_traffic(ring).models[0].source == "reported by the library"
    assert collective_traffic(ring).messages.tolist() == [10.0] * 4


def test_node_aware_traffic_of_the_world_is_left_out_with_its_reason():
    traffic = collective_traffic(recorded("MPI_Allreduce", [[0, 1, 2]], [8] * 3, **{"mpi.family": "mpich"}))
    assert len(traffic.sources) == 0
    assert "the same in every order" in traffic.models[0].source


def test_neighbours_missing_in_the_record_are_reported():
    traffic = collective_traffic(recorded("MPI_Neighbor_alltoall", [[0, 1]], [8, 8]))
    assert "no neighbours" in traffic.models[0].source
