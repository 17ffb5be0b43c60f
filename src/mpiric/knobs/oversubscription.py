"""Waiting of ranks: spinning, yielding the CPU, or sleeping."""

from collections.abc import Mapping

from mpiric.knobs._declaration import knob
from mpiric.model.job import Meaning
from mpiric.model.knob import Choice, ResultsEffect, Skip, Try
from mpiric.model.situation import Situation


def _yields_by_itself(situation: Situation) -> bool:
    """Return whether the library already yields CPUs because the launcher reported oversubscription."""
    can, job = situation.mpi.capabilities, situation.job
    allowed = any(segment.first(Meaning.OVERSUBSCRIBE) for segment in job.segments)
    allowed = allowed or situation.is_on("OMPI_MCA_rmaps_base_oversubscribe")
    is_off = any(situation.in_force(switch) in ("0", "false") for switch in can.waiting_switches)
    return can.yields_when_oversubscribed and allowed and not is_off


def _consider(situation: Situation) -> Skip | Try:
    can = situation.mpi.capabilities
    polite = any(situation.is_on(switch) for switch in can.waiting_switches)
    if "waiting" not in can.settings:
        return Skip(f"{can.title} has no setting for it")
    if situation.ranks_per_node < 2 and not polite:
        return Skip("one rank per node does not wait on its node")
    if not situation.is_oversubscribed:
        if not polite:
            return Skip("every rank has a CPU of its own and spins, which answers fastest")
        return Try(("spin",), 0.8, "yielding the CPU costs time when every rank has one", ("spin",))
    values = ("yield", "sleep") if can.can_sleep else ("yield",)
    if _yields_by_itself(situation):
        if not can.can_sleep:
            return Skip("ranks yield their CPU already, since the launcher detected shared CPUs")
        return Try(("sleep",), 0.15, "ranks yield their CPU already; another way of waiting may be faster")
    because = "more ranks than CPUs: a rank that spins keeps the one it waits for from running"
    return Try(values, 1.0, because, values)


def _brings(value: str, situation: Situation) -> Mapping[str, str]:
    """Unbind ranks, because bound ranks cannot use a CPU that another one yields."""
    unbound = not situation.mpi.capabilities.binds_by_default and situation.observation.unbound
    return {} if value == "spin" or unbound else {"binding": "none"}


KNOBS = (
    knob(
        "waiting",
        Choice(("spin", "yield", "sleep")),
        _consider,
        results=ResultsEffect.CHECKED,
        brings=_brings,
        site_default=lambda value, _: value == "spin",  # if each rank has a CPU, yielding only costs time
    ),
)
