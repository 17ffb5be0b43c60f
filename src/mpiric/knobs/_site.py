"""Rules for settings that suit all programs of a site."""

from mpiric.model.situation import Situation


def suits_every_program(_value: str, _situation: Situation) -> bool:
    """Return True: each value suits every program, wherever it was measured."""
    return True


def suits_every_program_between_nodes(_value: str, situation: Situation) -> bool:
    """Return whether it was measured between nodes: a job on one node shows nothing about networks."""
    return situation.nodes > 1
