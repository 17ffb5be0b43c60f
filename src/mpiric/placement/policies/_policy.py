"""What a policy is: a name (its file's), a sentence, and a pure function."""

from collections.abc import Callable
from dataclasses import dataclass

from mpiric.model.core_set import Cores, CoreSet
from mpiric.model.placement import Gpu, Saturation


@dataclass(frozen=True)
class Wanted:
    """``count`` ranks of ``width`` cores each are to be seated; they fit on the available cores."""

    count: int
    width: int
    saturation: Saturation | None = None
    gpus: tuple[Gpu, ...] = ()


@dataclass(frozen=True)
class PlacementPolicy:
    """``seat`` gives the cores of every rank, in rank order. ``None``: this policy cannot, here.

    ``shares_out``: without a number of threads, all cores are shared out among the ranks.
    """

    sentence: str
    seat: Callable[[CoreSet, Wanted], tuple[Cores, ...] | None]
    shares_out: bool = False
