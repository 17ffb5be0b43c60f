"""Self-contained pages from the templates beside this module."""

from functools import lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from mpiric.model.amount import seconds, share, size
from mpiric.report._amounts import count


@lru_cache
def template(name: str) -> Template:
    """A template, which may call the functions that print numbers; it is compiled once."""
    return _environment().from_string(template_text(name))


def page(name: str, **values: Any) -> str:
    """A whole page, with the style sheet that all share."""
    return template(name).render(css=Markup(template_text("page.css")), **values)  # noqa: S704 our own file


@lru_cache
def template_text(name: str) -> str:
    """The text of a file among the templates."""
    return files("mpiric.report").joinpath(f"templates/{name}").read_text(encoding="utf-8")


@lru_cache
def _environment() -> Environment:
    made = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.globals.update(seconds=seconds, size=size, share=share, count=count)
    return made
