"""The order that suits a record's traffic, and what it is predicted to change."""

from dataclasses import dataclass
from pathlib import Path

from mpiric.host.host import Host
from mpiric.model.machine_slots import MachineSpec
from mpiric.model.mapped_ranks import Mapped, OrderProposal
from mpiric.model.rank_order import RankOrder
from mpiric.workflows.mapping.machine import rank_order, record_on_machine
from mpiric.workflows.mapping.map import MapRequest, map_ranks
from mpiric.workflows.mapping.record import recorded_traffic


@dataclass(frozen=True)
class RecordedOrder:
    """The order found for a recorded run, in the launcher's slots, and what it changes."""

    order: RankOrder
    proposal: OrderProposal

    @property
    def mapped(self) -> Mapped:
        """The order in the tree's slots, and what it is predicted to change."""
        return self.proposal.mapped


def order_for_record(
    record: Path, host: Host, spec: MachineSpec | None = None, preset: str = "eco", seed: int = 1
) -> RecordedOrder:
    """Map the ranks of a record onto the nodes they sat on; of these ``spec`` may know more.

    Raises MpiricError where ranks are missing, or no order changes anything.
    """
    traffic = recorded_traffic(record)
    placed = record_on_machine(traffic, spec or MachineSpec())
    request = MapRequest(traffic.graph, placed.machine, placed.given, preset=preset, seed=seed)
    mapped = map_ranks(request, host)
    proposal = OrderProposal(mapped, traffic.graph, placed.machine)
    return RecordedOrder(rank_order(placed.machine, mapped.slots), proposal)
