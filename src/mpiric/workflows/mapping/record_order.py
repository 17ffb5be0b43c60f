"""Rank order for a record's traffic, with its predicted effects."""

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
    """Order for a recorded run in the launcher's slots, with its predicted effects."""

    order: RankOrder
    proposal: OrderProposal

    @property
    def mapped(self) -> Mapped:
        """Return the order in the tree's slots, with its predicted effects."""
        return self.proposal.mapped


def order_for_record(
    record: Path, host: Host, spec: MachineSpec | None = None, preset: str = "eco", seed: int = 1
) -> RecordedOrder:
    """Map the ranks of a record onto the nodes they used; ``spec`` may describe these nodes further.

    Raises MpiricError if ranks are missing, or if no order has an effect.
    """
    traffic = recorded_traffic(record)
    placed = record_on_machine(traffic, spec or MachineSpec())
    request = MapRequest(traffic.graph, placed.machine, placed.slots_before, preset=preset, seed=seed)
    mapped = map_ranks(request, host)
    proposal = OrderProposal(mapped, traffic.graph, placed.machine)
    return RecordedOrder(rank_order(placed.machine, mapped.slots), proposal)
