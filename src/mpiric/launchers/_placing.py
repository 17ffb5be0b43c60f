"""Placement plans as command lines."""

from collections.abc import Sequence

from mpiric.launchers._devices import with_devices
from mpiric.launchers._registry import dialects
from mpiric.model.errors import MpiricError
from mpiric.model.placement import Emission, Plan


def placing_launchers() -> tuple[str, ...]:
    """Return the names of launchers that can carry out a plan, in alphabetical order."""
    return tuple(name for name, dialect in dialects().items() if dialect.emit is not None)


def emit(plan: Plan, launcher: str) -> Emission:
    """Return the command line of a launcher. Raises MpiricError if it cannot carry out plans."""
    emitter = dialects()[launcher].emit if launcher in dialects() else None
    if emitter is None:
        raise MpiricError(
            f"launcher {launcher!r} is unknown, or cannot place ranks as planned",
            hint=f"use one of {', '.join(placing_launchers())}",
        )
    return with_devices(plan, launcher, emitter(plan))


def emit_all(plans: Sequence[Plan]) -> dict[str, Emission]:
    """Return the command line of each launcher, by name; several plans describe different nodes, by rank."""
    if len(plans) == 1:
        return {name: emit(plans[0], name) for name in placing_launchers()}
    uneven = {name: dialect.emit_uneven for name, dialect in dialects().items()}
    return {name: emitter(plans) for name, emitter in uneven.items() if emitter is not None}
