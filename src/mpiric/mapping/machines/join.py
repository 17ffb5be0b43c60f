"""Several descriptions of one machine as one: what a later one says counts."""

from collections.abc import Sequence

from mpiric.model.errors import MpiricError
from mpiric.model.machine_slots import MachineSpec


def joined_specs(specs: Sequence[MachineSpec]) -> MachineSpec:
    """Join them. Raises MpiricError where two describe different networks."""
    if sum(spec.network is not None for spec in specs) > 1:
        raise MpiricError("two networks are described", hint="give one topology file, or --network")
    found = MachineSpec()
    for spec in specs:
        found = MachineSpec(
            hosts=spec.hosts or found.hosts,
            slots=spec.slots or found.slots,
            inside=spec.inside or found.inside,
            network=spec.network or found.network,
            positions={**found.positions, **spec.positions},
            distances={**found.distances, **spec.distances},
            costs={**found.costs, **spec.costs},
            costs_source=spec.costs_source or found.costs_source,
            nics=max(spec.nics, found.nics),
        )
    return found
