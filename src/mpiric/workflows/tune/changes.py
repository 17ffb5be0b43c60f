"""The settings of a proved answer, each with its reason and its share of the gain."""

from mpiric import knobs
from mpiric.lab.render import completed, spellings
from mpiric.model.evidence import Evidence
from mpiric.model.situation import Situation
from mpiric.model.tuned import KnobChange
from mpiric.workflows.tune.save_recipe import reason_for


def changes_of(evidence: Evidence, situation: Situation, *, of_site: bool) -> tuple[KnobChange, ...]:
    """What the answer sets, with what its settings bring along; of a tune for the site nothing is marked."""
    answer = evidence.configuration
    written = spellings(answer, situation)
    return tuple(
        KnobChange(
            name,
            value,
            reason_for(name, situation),
            written[name].note,
            evidence.share_of(name) or evidence.share_of(_brought_by(name, evidence, situation)),
            site=not of_site and _suits_site(name, value, situation),
        )
        for name, value in completed(answer, situation).items
    )


def _brought_by(name: str, evidence: Evidence, situation: Situation) -> str:
    """The setting of the answer that brings a knob along, "" for none."""
    for other, value in evidence.configuration.items:
        brings = knobs.all_knobs()[other].brings
        if brings is not None and name in brings(value, situation):
            return other
    return ""


def _suits_site(name: str, value: str, situation: Situation) -> bool:
    suits = knobs.all_knobs()[name].site_default
    return suits is not None and suits(value, situation)
