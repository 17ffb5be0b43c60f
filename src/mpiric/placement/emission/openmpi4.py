"""Open MPI 4: ``ppr`` with ``pe``, or a rankfile of hardware threads by the kernel's numbers.

``rmaps_rank_file_physical`` makes the numbers of a rankfile those of the kernel (orte/mca/rmaps/rank_file).
``--cpu-list`` sorts what it is given, so it cannot say an order.
"""

from collections.abc import Sequence

from mpiric.model.core_set import Level
from mpiric.model.placement import Emission, Plan
from mpiric.model.pu_set import pu_list
from mpiric.placement.emission._openmpi import forwarded, rankfile, uneven, words_for_hosts
from mpiric.placement.emission._shape import fillings

_OBJECTS = {None: "node", Level.SOCKET: "socket", Level.NUMA: "numa", Level.CACHE: "l3cache"}
_FILE = "openmpi4.rankfile"
_WORDS = ("--mca", "rmaps_rank_file_physical", "1", "--rankfile", _FILE)


def emit(plan: Plan) -> Emission:
    """Options of ``mpirun``."""
    forward, variables = forwarded(plan)
    start = ("mpirun", "-np", str(plan.request.ranks), *words_for_hosts(plan))
    if filled := fillings(plan):
        shape = filled[0]
        mapping = f"ppr:{shape.ranks}:{_OBJECTS[shape.level]}:pe={shape.width}"
        return Emission((*start, "--map-by", mapping, "--bind-to", "core", *forward), variables)
    text = rankfile(plan, lambda seat: pu_list(seat.pus))
    return Emission((*start, *_WORDS, *forward), variables, {_FILE: text})


def emit_uneven(plans: Sequence[Plan]) -> Emission:
    """A rankfile."""
    return uneven(plans, _WORDS, _FILE, lambda _, seat: pu_list(seat.pus))
