"""The order of ranks: which of them share a node."""

from mpiric.knobs._declare import no, promising, yes
from mpiric.model.knob import Applicability, Choice, Knob, Promise
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

_TOPOLOGIES = ("cart_create", "graph_create", "dist_graph_create", "dist_graph_create_adjacent")
_WHEN = ("nodes >= 2", "other_node_share > 0 or collective_calls >= 1")
_SYMPTOMS = ("mpi_share", "point_to_point_share")
_ORDERS = ("mapped", "block", "round-robin", "folded", "given")


def _values(situation: Situation) -> tuple[str, ...]:
    return tuple(choice.name for choice in situation.rank_orders.choices)


def _applies(situation: Situation) -> Applicability:
    orders = situation.rank_orders
    if situation.nodes < 2:
        return no("the job stays on one node")
    if not orders.choices:
        return no(orders.why_not)
    best = min(orders.choices, key=lambda choice: choice.hop_bytes)
    return yes(f"{_change(best.off_node)} are predicted with the order {best.name}")


def _change(share: float) -> str:
    return f"{abs(1 - share):.0%} {'fewer' if share <= 1 else 'more'} bytes between nodes"


def _promise(situation: Situation) -> Promise:
    """What lies between nodes may be waiting for others as well: half of what it is predicted to save."""
    choices = sorted(situation.rank_orders.choices, key=lambda choice: choice.hop_bytes)
    if not choices:
        return Promise(0.0, "no other order is known")
    best = choices[0]
    behaviour = situation.observation.behaviour
    bound = behaviour.numbers.get("network_bound", 1.0) if behaviour else 1.0
    score = min(0.9, 0.5 + 0.5 * bound * max(0.0, 1 - best.off_node))
    because = f"{_change(best.off_node)}, predicted from the messages of a recorded run"
    return Promise(score, because, tuple(choice.name for choice in choices))


def _spelling(value: str, situation: Situation) -> Spelling | None:
    orders = situation.rank_orders
    choice = orders.named(value)
    if choice is None or not orders.library or orders.family not in situation.mpi.abi_families[:1]:
        return None
    return Spelling(
        environment={"MPIRIC_RANK_ORDER": choice.file},
        preload=(orders.library,),
        note="needs mpiric's runtime in the ranks; `mpiric map RECORD --emit FORM` writes what does not",
    )


def _honour_applies(situation: Situation) -> Applicability:
    if situation.nodes < 2:
        return no("the job stays on one node")
    if not situation.observation.can_call(*_TOPOLOGIES):
        return no("the program makes no topology")
    if not situation.rank_orders.engine:
        return no(situation.rank_orders.why_not or "no run of it was recorded")
    return yes("the program can make topologies, whose ranks the libraries keep in their order")


def _honour_spelling(_value: str, situation: Situation) -> Spelling | None:
    orders = situation.rank_orders
    if not orders.engine or orders.family not in situation.mpi.abi_families[:1]:
        return None
    return Spelling(
        environment={"MPIRIC_HONOUR_REORDER": orders.engine},
        preload=(orders.library,),
        note="needs mpiric's runtime in the ranks",
    )


KNOBS = (
    Knob(
        name="rank-order",
        sentence="Which rank sits where: as the launcher fills nodes, or ranks that talk side by side",
        why="Messages on a node cost less than messages between nodes, and links carry what is left sooner",
        source=(
            "measured elsewhere: GYRO, 1024 ranks: 11.26 s of communication by default, 6.68 s folded "
            "(Cray); MPICH_RANK_REORDER_METHOD in intro_mpi(3)"
        ),
        domain=Choice(_ORDERS),
        values=_values,
        applies=_applies,
        promise=_promise,
        spell=_spelling,
        matters_when=_WHEN,
        ceiling=("mpi_bound",),
        symptoms=_SYMPTOMS,
    ),
    Knob(
        name="honour-reorder",
        sentence="Whether topologies that may reorder ranks do, by mpiric's mapping engine",
        why="Libraries ignore reorder=1, and the program has said who its neighbours are",
        source="MPICH issue 1654 (reorder ignored); Open MPI issues 11756, 8939 (reordered wrongly)",
        domain=Choice(("yes",)),
        values=lambda _: ("yes",),
        applies=_honour_applies,
        promise=promising(0.3, "neighbours that the program names come to one node"),
        spell=_honour_spelling,
        matters_when=_WHEN,
        ceiling=("mpi_bound",),
        symptoms=_SYMPTOMS,
    ),
)
