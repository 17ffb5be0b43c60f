"""Open MPI 5 (PRRTE): ``ppr`` with ``pe``, an ordered list of cores, or a rankfile.

``pe-list`` and rankfiles count cores as hwloc does, or hardware threads with ``hwtcpus``; both seen with
``--display map`` of PRRTE 3. An ordered list gives each rank one entry, so wide ranks need the file.
"""

from collections.abc import Sequence

from mpiric.model.core_set import Level
from mpiric.model.placement import Emission, Plan, Seat
from mpiric.model.pu_set import pu_list
from mpiric.placement.emission._openmpi import forwarded, rankfile, uneven, words_for_hosts
from mpiric.placement.emission._shape import fillings, logical_pus, whole_cores

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


def emit_uneven(plans: Sequence[Plan]) -> Emission:
    """A rankfile, of cores where all ranks have whole ones."""
    whole = all(map(whole_cores, plans))
    return uneven(plans, _file_words(whole), _FILE, lambda plan, seat: pu_list(_numbers(plan, seat, whole)))


def _file_words(whole: bool) -> tuple[str, ...]:  # noqa: FBT001 - of what a name says
    unit = "" if whole else ":hwtcpus"
    return ("--map-by", f"rankfile:file={_FILE}{unit}", "--bind-to", "core" if whole else "hwthread")


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
    return _file_words(whole), {_FILE: rankfile(plan, lambda seat: pu_list(_units(plan, seat)))}


def _units(plan: Plan, seat: Seat) -> tuple[int, ...]:
    """What PRRTE counts: cores, or hardware threads where a core is shared or used in part."""
    return _numbers(plan, seat, whole_cores(plan))


def _numbers(plan: Plan, seat: Seat, whole: bool) -> tuple[int, ...]:  # noqa: FBT001
    if whole:
        return tuple(core.index for core in seat.cores)
    logical = logical_pus(plan)
    return tuple(sorted(logical[pu] for pu in seat.pus))
