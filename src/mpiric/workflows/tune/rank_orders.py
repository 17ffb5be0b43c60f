"""Rank orders of a tune, predicted from the messages of a recorded run, and export of a proved order."""

from pathlib import Path

from mpiric.host.host import Host
from mpiric.host.owned_files import write_text
from mpiric.launchers.rank_orders import rank_order_forms
from mpiric.model.configuration import Configuration
from mpiric.model.rank_order import RankOrder
from mpiric.model.situation import Situation
from mpiric.workflows.mapping.orders import hosts_of_slots, planned_orders, read_order, with_orders
from mpiric.workflows.tune.state import TuneState

KNOB = "rank-order"


def find_rank_orders(state: TuneState, host: Host) -> None:
    """Add the rank orders with a predicted gain to the situation; they are planned once in a tune."""
    situation, directory = state.situation, state.log.path
    if situation.nodes < 2:
        return
    if planned_orders(directory) is None and state.recorded:
        # Most tunes run on one node, and do without the mapping engine and its models of networks.
        from mpiric.workflows.mapping.plan_orders import plan_orders

        plan_orders(state.recorded[-1].record, "the recorded run", directory, host)
    state.situation = with_planned_orders(situation, directory, host)
    orders = state.situation.rank_orders
    if not orders.choices:
        state.note(f"no other order of ranks was tried: {orders.why_not}")


def with_planned_orders(situation: Situation, directory: Path, host: Host) -> Situation:
    """Return the situation with the orders planned in the tune's directory as values of the knob."""
    orders = planned_orders(directory)
    return situation if orders is None else with_orders(situation, orders, host)


def proved_order(configuration: Configuration, situation: Situation) -> tuple[int, ...]:
    """Return the slot of each rank, empty if the configuration sets no rank order."""
    choice = situation.rank_orders.named(configuration.as_dict().get(KNOB, ""))
    return read_order(Path(choice.file)) if choice else ()


def export_order(configuration: Configuration, situation: Situation, directory: Path) -> list[str]:
    """Write a proved order in the format of this launcher; return sentences on its use."""
    slots = proved_order(configuration, situation)
    form = _FORMS.get(situation.job.dialect, "")
    hosts = hosts_of_slots(directory)
    if not slots or not form or len(hosts) != len(slots):
        return []
    path = directory / "orders" / f"{form}.txt"
    emission = rank_order_forms()[form](RankOrder(slots, hosts))
    write_text(path, emission.text)
    return [f"the order without mpiric: {emission.usage(path)}"]


# File format of rank orders by launcher dialect.
_FORMS = {
    "srun": "slurm",
    "hydra": "hydra",
    "intelmpi": "intelmpi",
    "openmpi4": "openmpi-rankfile",
    "openmpi5": "prrte",
    "aprun": "mpich-rank-order",
    "pals": "mpich-rank-order",
}
