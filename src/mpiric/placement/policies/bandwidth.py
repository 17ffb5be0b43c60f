"""Bandwidth: only as many cores of a NUMA node as are needed to reach its full memory bandwidth.

Further cores do not add bandwidth. On Betzy (2 × EPYC 7742), every second core, 8 of 16, reaches more
bandwidth than all 16 (STREAM, see tests/data/bandwidth). Without a measurement (`mpiric place --measure`) the
number of cores is a rule of thumb.
"""

from mpiric.model.machine import Cores, CoreSet, Level
from mpiric.model.placement import Saturation
from mpiric.placement.policies._policy import PlacementDemand, PlacementPolicy
from mpiric.placement.policies.spread import seat_apart


def saturating(available: CoreSet, saturation: Saturation | None) -> CoreSet:
    """Return the cores of each NUMA node that reach its full bandwidth."""
    chosen: list[Cores] = []
    for domain in available.domains(Level.NUMA):
        number, spacing = (saturation.cores, saturation.spacing) if saturation else (len(domain.cores), 2)
        chosen.append(domain.cores[::spacing][:number])
    return available.only(core for cores in chosen for core in cores)


def _seat(available: CoreSet, demand: PlacementDemand) -> tuple[Cores, ...]:
    few = saturating(available, demand.saturation)
    fits = demand.count * demand.width <= len(few.cores)
    return seat_apart(few if fits else available, demand.count, demand.width)


POLICY = PlacementPolicy(
    "only as many cores of each NUMA node as are needed to reach its full memory bandwidth", _seat
)
