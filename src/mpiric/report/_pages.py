"""HTML pages from the templates in `templates/`."""

from functools import lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from mpiric.model.amount import seconds, share, size
from mpiric.report._amounts import count


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
