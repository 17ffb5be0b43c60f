"""Whether a setting holds for every program of a site."""

from mpiric.model.situation import Situation


def suits_every_program(_value: str, _situation: Situation) -> bool:
    """A default of a site whatever the value, wherever it was measured."""
    return True


def suits_every_program_between_nodes(_value: str, situation: Situation) -> bool:
    """A default of a site when it was measured between nodes: a job on one node says nothing of networks."""
    return situation.nodes > 1
