"""HTML pages from the templates in `templates/`, and number formats of reports."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from mpiric.model.amount import seconds, share, size
from mpiric.model.errors import Finding
from mpiric.model.profile import Advice, Profile

_ASKED_BYTES = 16 << 20  # threshold of private memory above which the runtime requests huge pages


def on_huge_pages(numbers: Mapping[str, float]) -> str:
    """Return ``34 % on huge pages``, or "" if huge pages were not requested."""
    requested = numbers["anonymous_bytes"] >= numbers["ranks"] * _ASKED_BYTES
    return f"{share(numbers['huge_share'])} on huge pages" if requested else ""


def expectation(advice: Advice) -> str:
    """Describe the gain that an advice is expected to bring."""
    if advice.expected_share is not None:
        expected = share(advice.expected_share)
        expected_text = f"{'' if expected.startswith('<') else 'about '}{expected} of the run time"
        bound = advice.gain_share > advice.expected_share * 1.005
        return f"{expected_text}, at most {share(advice.gain_share)}" if bound else expected_text
    trial = "to be measured by a trial" if advice.knobs else ""
    upper_bound = f"up to {share(advice.gain_share)} of the run time" if advice.gain_share else ""
    return "; ".join(filter(None, (upper_bound, trial))) or "unknown"


def count(value: float) -> str:
    """Format a number as ``1,234,567``."""
    return f"{value:,.0f}"


def library(profile: Profile) -> str:
    """Return library, transport and algorithms: ``Open MPI v4.1.4, ob1 over self tcp, allreduce by ring``."""
    used = {use.name.removeprefix("MPI_").lower() for use in profile.functions}
    algorithms = [f"{name} by {algorithm}" for name, algorithm in profile.library.items() if name in used]
    return ", ".join(filter(None, (profile.mpi, profile.library.get("transport"), *algorithms)))


def effects_in_words(items: Iterable[Finding | Advice]) -> dict[str, str]:
    """Return for each finding that is an effect a sentence that names its causes."""
    items = list(items)
    findings = [item.finding if isinstance(item, Advice) else item for item in items]
    sentences = {finding.id: finding.says.rstrip(".") for finding in findings}
    return {
        advice.finding.id: "an effect of this: "
        + "; ".join(_within_sentence(sentences[cause]) for cause in advice.effect_of)
        for advice in items
        if isinstance(advice, Advice) and advice.effect_of
    }


def _within_sentence(sentence: str) -> str:
    """Return a sentence with a small first letter, unless it begins with a name in capitals."""
    return sentence if sentence[1:2].isupper() else f"{sentence[:1].lower()}{sentence[1:]}"


@lru_cache
def template(name: str) -> Template:
    """Return a compiled template, which may call the functions that format numbers."""
    return _environment().from_string(template_text(name))


def page(name: str, **values: Any) -> str:
    """Render a page with the shared style sheet."""
    return template(name).render(css=Markup(template_text("page.css")), **values)  # noqa: S704 our own file


@lru_cache
def template_text(name: str) -> str:
    """Return the text of a file in `templates/`."""
    return files("mpiric.report").joinpath(f"templates/{name}").read_text(encoding="utf-8")


@lru_cache
def _environment() -> Environment:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals.update(seconds=seconds, size=size, share=share, count=count)
    return environment
