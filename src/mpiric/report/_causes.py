"""What is said of a finding that another one brings about."""

from collections.abc import Iterable

from mpiric.model.finding import Finding
from mpiric.model.profile import Advice


def effects_in_words(given: Iterable[Finding | Advice]) -> dict[str, str]:
    """Id of each finding that others bring about → those others, in their own words."""
    everything = list(given)
    advice = [each for each in everything if isinstance(each, Advice)]
    findings = [each.finding if isinstance(each, Advice) else each for each in everything]
    says = {each.id: each.says.rstrip(".") for each in findings}
    return {
        each.finding.id: "an effect of this: "
        + "; ".join(f"{says[cause][:1].lower()}{says[cause][1:]}" for cause in each.effect_of)
        for each in advice
        if each.effect_of
    }
