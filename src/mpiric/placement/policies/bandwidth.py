"""Bandwidth: only as many cores of a NUMA node as it takes to draw its whole memory bandwidth.

Beyond that number further cores only stand in line; on Betzy (2 × EPYC 7742) 8 of 16 cores, every second
one, draw more than all 16 do (STREAM, see tests/data/bandwidth). Needs a measurement to be more than a
rule of thumb: `mpiric place --measure`.
"""

from mpiric.model.core_set import Cores, CoreSet, Level
from mpiric.model.placement import Saturation
from mpiric.placement.policies._policy import PlacementPolicy, Wanted
from mpiric.placement.policies.spread import seat_apart


def saturating(available: CoreSet, saturation: Saturation | None) -> CoreSet:
    """The cores of each NUMA node that it takes to draw its whole bandwidth."""
    kept: list[Cores] = []
    for domain in available.domains(Level.NUMA):
        number, spacing = (saturation.cores, saturation.spacing) if saturation else (len(domain.cores), 2)
        kept.append(domain.cores[::spacing][:number])
    return available.only(core for cores in kept for core in cores)


def _seat(available: CoreSet, wanted: Wanted) -> tuple[Cores, ...]:
    few = saturating(available, wanted.saturation)
    fits = wanted.count * wanted.width <= len(few.cores)
    return seat_apart(few if fits else available, wanted.count, wanted.width)


POLICY = PlacementPolicy(
    "only the cores that it takes to draw the whole memory bandwidth of each NUMA node", _seat
)
