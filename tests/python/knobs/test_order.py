"""The order of ranks: tried where a better one is known, carried out by the runtime of the right family."""

from dataclasses import replace

from tests.support.answers import needless, skipped
from tests.support.behaviours import behaviour
from tests.support.situations import MPIS, orders, situation

from mpiric.knobs import all_knobs
from mpiric.model.knob import Try
from mpiric.model.rank_order import RankOrders

KNOB = all_knobs()["rank-order"]
SEVERAL = situation(ranks=8, nodes=4)
KNOWN = replace(SEVERAL, rank_orders=orders(SEVERAL))


def test_a_better_order_is_tried_with_its_prediction():
    answer = KNOB.consider(KNOWN)
    assert isinstance(answer, Try)
    assert answer.because.startswith("40 % fewer bytes between nodes, predicted")
    assert answer.values == ("mapped",)


def test_without_a_better_order_none_is_tried():
    none = replace(SEVERAL, rank_orders=RankOrders(why_not="no gain expected"))
    assert skipped("rank-order", none) == "no gain expected"
    assert skipped("rank-order", replace(KNOWN, nodes=1)) == "the job stays on one node"


def test_the_more_an_order_saves_the_more_it_promises():
    little, much = (replace(SEVERAL, rank_orders=orders(SEVERAL, share)) for share in (0.95, 0.2))
    assert KNOB.consider(little).prior < KNOB.consider(much).prior <= 0.9


def test_it_cannot_matter_where_nothing_is_sent_between_nodes():
    assert needless("rank-order", KNOWN, behaviour(nodes=4, other_node_share=0, mpi_bound=0.5))
    assert needless("rank-order", KNOWN, behaviour(nodes=1, other_node_share=0.5, mpi_bound=0.5))
    assert needless("rank-order", KNOWN, behaviour(nodes=4, other_node_share=0.5, mpi_bound=0.001))
    assert not needless("rank-order", KNOWN, behaviour(nodes=4, other_node_share=0.5, mpi_bound=0.5))


def test_the_runtime_carries_it_out_under_a_library_of_its_family_only():
    assert KNOB.settings is not None
    written = KNOB.settings("mapped", KNOWN)
    assert written is not None
    assert written.environment == {"MPIRIC_RANK_ORDER": KNOWN.rank_orders.choices[0].file}
    assert written.preload == (KNOWN.rank_orders.library,)
    other = next(mpi for mpi in MPIS if mpi.implementation == "openmpi")
    assert KNOB.settings("mapped", replace(KNOWN, mpi=other)) is None
    assert KNOB.settings("folded", KNOWN) is None
