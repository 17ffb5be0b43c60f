"""Open MPI 5 (PRRTE): ``ppr`` with ``pe``, an ordered list of cores, or a rankfile.

``pe-list`` and rankfiles count cores as hwloc does, or hardware threads with ``hwtcpus``; both seen with
``--display map`` of PRRTE 3. An ordered list gives each rank one entry, so wide ranks need the file.
"""

from mpiric.model.placement import Emission, Plan, Seat
from mpiric.model.pu_set import pu_list
from mpiric.placement.emission._openmpi import forwarded, rankfile, words_for_hosts
from mpiric.placement.emission._shape import fillings, logical_pus, whole_cores
from mpiric.placement.grounds import Level

_OBJECTS = {None: "node", Level.SOCKET: "package", Level.NUMA: "numa", Level.CACHE: "l3cache"}
_FILE = "openmpi5.rankfile"


def emit(plan: Plan) -> Emission:
    """Options of ``mpirun``."""
    forward, variables = forwarded(plan)
    mapping, files = _mapping(plan)
    return Emission(
        ("mpirun", "-np", str(plan.request.ranks), *words_for_hosts(plan), *mapping, *forward),
        variables,
        files,
    )


def _mapping(plan: Plan) -> tuple[tuple[str, ...], dict[str, str]]:
    if filled := fillings(plan):
        shape = filled[0]
        return (
            "--map-by",
            f"ppr:{shape.ranks}:{_OBJECTS[shape.level]}:pe={shape.width}",
            "--bind-to",
            "core",
        ), {}
    whole = whole_cores(plan)
    if all(len(_units(plan, seat)) == 1 for seat in plan.seats):
        places = ",".join(str(_units(plan, seat)[0]) for seat in plan.seats)
        unit = "" if whole else ":hwtcpus"
        return (
            "--map-by",
            f"pe-list={places}:ordered{unit}",
            "--bind-to",
            "core" if whole else "hwthread",
        ), {}
    words = ("--map-by", f"rankfile:file={_FILE}" + ("" if whole else ":hwtcpus"))
    text = rankfile(plan, lambda seat: pu_list(_units(plan, seat)))
    return (*words, "--bind-to", "core" if whole else "hwthread"), {_FILE: text}


def _units(plan: Plan, seat: Seat) -> tuple[int, ...]:
    """What PRRTE counts: cores, or hardware threads where a core is shared or used in part."""
    if whole_cores(plan):
        return tuple(core.index for core in seat.cores)
    logical = logical_pus(plan)
    return tuple(sorted(logical[pu] for pu in seat.pus))
