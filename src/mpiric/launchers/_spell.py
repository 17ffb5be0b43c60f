"""Spelling of knobs by a dialect, and recognition of launchers by their banner."""

from mpiric.launchers._hosts import names_speller
from mpiric.launchers._registry import dialects
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling


def spell(knob: str, value: str, situation: Situation) -> Spelling | None:
    """Return how the job's launcher writes a knob's value; None if it has no syntax for it."""
    speller = names_speller if knob == "host-names" else dialects()[situation.job.dialect].spellings.get(knob)
    return None if speller is None else speller(situation, value)


def spell_carried(knob: str, value: str, situation: Situation) -> Spelling | None:
    """Return how the launcher keeps a default that the user did not set; None: like a chosen value."""
    speller = dialects()[situation.job.dialect].spellings_of_carried.get(knob)
    return None if speller is None else speller(situation, value)


def recognise_launcher(banner: str) -> tuple[str, str] | None:
    """Return dialect and version from the output of ``--version``; None if no dialect recognises it."""
    for name, dialect in dialects().items():
        version = dialect.recognise_version(banner)
        if version is not None:
            return name, version
    return None
