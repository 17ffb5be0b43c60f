"""Two records side by side as one self-contained page."""

from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from mpiric.model.comparison import Comparison
from mpiric.report._amounts import count, seconds, size
from mpiric.report.comparison_text import headline_value


def comparison_html(comparison: Comparison, version: str) -> str:
    """The whole page."""
    templates = files("mpiric.report").joinpath("templates")
    made = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return made.from_string(templates.joinpath("comparison.html").read_text(encoding="utf-8")).render(
        comparison=comparison,
        version=version,
        css=Markup(templates.joinpath("page.css").read_text(encoding="utf-8")),  # noqa: S704 our own file
        headline=headline_value,
        time=lambda value, _: seconds(value),
        number=lambda value, _: count(value),
        bytes=lambda value, _: size(value),
    )
