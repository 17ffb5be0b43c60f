"""Bandwidth: only as many cores of a NUMA node as it takes to draw its whole memory bandwidth.

Beyond that number further cores only stand in line; on Betzy (2 × EPYC 7742) 8 of 16 cores, every second
one, draw more than all 16 do (STREAM, see tests/data/bandwidth). Needs a measurement to be more than a
rule of thumb: `mpiric place --measure`.
"""

from mpiric.model.placement import Saturation
from mpiric.placement.grounds import Cores, Grounds, Level
from mpiric.placement.policies._policy import Policy, Wanted
from mpiric.placement.policies.spread import seat_apart


def saturating(grounds: Grounds, saturation: Saturation | None) -> Grounds:
    """The grounds restricted to the cores that count."""
    kept: list[Cores] = []
    for domain in grounds.domains(Level.NUMA):
        number, spacing = (saturation.cores, saturation.spacing) if saturation else (len(domain.cores), 2)
        kept.append(domain.cores[::spacing][:number])
    return grounds.only(core for cores in kept for core in cores)


def _seat(grounds: Grounds, wanted: Wanted) -> tuple[Cores, ...]:
    few = saturating(grounds, wanted.saturation)
    fits = wanted.count * wanted.width <= len(few.cores)
    return seat_apart(few if fits else grounds, wanted.count, wanted.width)


POLICY = Policy("only the cores that it takes to draw the whole memory bandwidth of each NUMA node", _seat)
