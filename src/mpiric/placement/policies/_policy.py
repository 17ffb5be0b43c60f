"""Interface of placement policies: a description and a pure function."""

from collections.abc import Callable

from mpiric.model.dataclass import dataclass
from mpiric.model.machine import Cores, CoreSet
from mpiric.model.placement import Gpu, Saturation


@dataclass(frozen=True)
class PlacementDemand:
    """Request to a policy: ``count`` ranks of ``width`` cores each, which fit on the available cores."""

    count: int
    width: int
    saturation: Saturation | None = None
    gpus: tuple[Gpu, ...] = ()


@dataclass(frozen=True)
class PlacementPolicy:
    """A placement policy. ``seat`` returns the cores of each rank in rank order, None if it cannot.

    ``shares_out`` is True if all cores are divided among the ranks when the number of threads is not set.
    """

    sentence: str
    seat: Callable[[CoreSet, PlacementDemand], tuple[Cores, ...] | None]
    shares_out: bool = False
