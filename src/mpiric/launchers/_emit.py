"""Placement plans as the command lines of launchers."""

from collections.abc import Sequence

from mpiric.launchers._registry import dialects
from mpiric.model.errors import MpiricError
from mpiric.model.placement import Emission, Plan


def placing_launchers() -> tuple[str, ...]:
    """Names of the launchers that can carry out a plan, in alphabetical order."""
    return tuple(name for name, dialect in dialects().items() if dialect.emit is not None)


def emit(plan: Plan, launcher: str) -> Emission:
    """The command line of one launcher by its name. Raises MpiricError for one that carries out no plan."""
    emitter = dialects()[launcher].emit if launcher in dialects() else None
    if emitter is None:
        raise MpiricError(
            f"there is no launcher {launcher!r}", hint=f"one of {', '.join(placing_launchers())}"
        )
    return emitter(plan)


def emit_all(plans: Sequence[Plan]) -> dict[str, Emission]:
    """Every launcher's command line, by name. Several plans: nodes that differ, in the order of ranks."""
    if len(plans) == 1:
        return {name: emit(plans[0], name) for name in placing_launchers()}
    uneven = {name: dialect.emit_uneven for name, dialect in dialects().items()}
    return {name: emitter(plans) for name, emitter in uneven.items() if emitter is not None}
