"""Order of ranks: the assignment of ranks to nodes."""

from mpiric.knobs._declaration import knob
from mpiric.model.amount import share
from mpiric.model.job import Spelling
from mpiric.model.knob import Choice, Skip, Try
from mpiric.model.situation import Situation

_TOPOLOGIES = ("cart_create", "graph_create", "dist_graph_create", "dist_graph_create_adjacent")
_ORDERS = ("mapped", "block", "round-robin", "folded", "given")


def _stays_on_nodes(situation: Situation) -> str:
    """Return why the order of ranks has no effect, "" if it may have one."""
    if situation.nodes < 2:
        return "the job stays on one node"
    if situation.shown("nodes") < 2:
        return "the job runs on one node"
    if situation.shown("other_node_share") == 0 and situation.shown("collective_calls") < 1:
        return "no message leaves its node and no collective operation is called"
    return ""


def _consider_order(situation: Situation) -> Skip | Try:
    """Propose the planned rank orders; part of the time between nodes may be waiting for other ranks."""
    orders = situation.rank_orders
    reason = _stays_on_nodes(situation) or ("" if orders.choices else orders.why_not)
    if reason:
        return Skip(reason)
    choices = sorted(orders.choices, key=lambda choice: choice.hop_bytes)
    off_node = choices[0].off_node
    more_or_less = f"{share(abs(1 - off_node))} {'fewer' if off_node <= 1 else 'more'} bytes between nodes"
    saved = situation.number("network_bound", 1.0) * max(0.0, 1 - off_node)
    return Try(
        tuple(choice.name for choice in orders.choices),
        min(0.9, 0.5 + 0.5 * saved),  # half of the predicted saving
        f"{more_or_less}, predicted from the messages of a recorded run",
        tuple(choice.name for choice in choices),
    )


def _set_order(value: str, situation: Situation) -> Spelling | None:
    orders = situation.rank_orders
    choice = orders.named(value)
    if choice is None or not orders.library or orders.family not in situation.mpi.abi_families[:1]:
        return None
    return Spelling(
        environment={"MPIRIC_RANK_ORDER": choice.file},
        preload=(orders.library,),
        note="needs mpiric's runtime in the ranks; `mpiric map RECORD --emit FORM` writes what does not",
    )


def _consider_honour(situation: Situation) -> Skip | Try:
    if reason := _stays_on_nodes(situation):
        return Skip(reason)
    if not situation.observation.can_call(*_TOPOLOGIES):
        return Skip("the program makes no topology")
    if not situation.rank_orders.engine:
        return Skip(situation.rank_orders.why_not or "no run of it was recorded")
    return Try(("yes",), 0.3, "neighbours that the program names come to one node")


def _set_honour(_value: str, situation: Situation) -> Spelling | None:
    orders = situation.rank_orders
    if not orders.engine or orders.family not in situation.mpi.abi_families[:1]:
        return None
    return Spelling(
        environment={"MPIRIC_HONOUR_REORDER": orders.engine},
        preload=(orders.library,),
        note="needs mpiric's runtime in the ranks",
    )


KNOBS = (
    knob("rank-order", Choice(_ORDERS), _consider_order, settings=_set_order),
    knob("honour-reorder", Choice(("yes",)), _consider_honour, settings=_set_honour),
)
