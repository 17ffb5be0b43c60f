"""The report on a record as one self-contained page: no network, light and dark, on a phone and in print.

Sections are files of `sections/`, with their templates; charts are drawn by Apache ECharts, which the page
carries. What a chart shows stands in tables too: without the library only the pictures are missing.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from mpiric.model.profile import Profile
from mpiric.report._amounts import count, library, seconds, share, size
from mpiric.report.sections import ORDER

LIBRARY = "echarts.min.js"  # brought by `make setup`, and by the build of the wheel, into library/


def profile_html(profile: Profile, version: str) -> str:
    """The whole page."""
    data: dict[str, Any] = {}
    sections = list(_sections(profile, data))
    charts = charts_library()
    script = _text("charts.js").replace('"use strict";\n', f'"use strict";\n{_text("matrix.js")}', 1)
    return (
        _environment()
        .from_string(_text("profile.html"))
        .render(
            profile=profile,
            library=library(profile),
            sections=sections,
            version=version,
            css=Markup(_text("page.css")),  # noqa: S704 our own file
            data=Markup(in_script(json.dumps(data, separators=(",", ":")))),  # noqa: S704 escaped for its place
            charts=Markup(in_script(charts)),  # noqa: S704 a file of the installation
            script=Markup(script),  # noqa: S704 our own files
        )
    )


def in_script(text: str) -> str:
    """Text that may stand between <script> tags: nothing in it can end or comment out the element."""
    return text.replace("</", "<\\/").replace("<!--", "<\\!--")


@lru_cache
def charts_library() -> str:
    """The library's text, "" when this installation was made without it."""
    path = files("mpiric.report").joinpath(f"library/{LIBRARY}")
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _sections(profile: Profile, data: dict[str, Any]) -> Iterator[tuple[str, str, Markup]]:
    """Name, title and body of each; what its chart needs goes into ``data``."""
    for name in ORDER:
        module = import_module(f"mpiric.report.sections.{name}")
        view = module.view(profile)
        if "chart" in view:
            data[name] = view.pop("chart")
        template = _environment().from_string(_text(f"profile/{name}.html"))
        body = Markup(template.render(profile=profile, **view))  # noqa: S704 rendered with autoescape
        yield name, module.TITLE, body


@lru_cache
def _environment() -> Environment:
    made = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.globals.update(seconds=seconds, size=size, share=share, count=count)
    return made


@lru_cache
def _text(name: str) -> str:
    return files("mpiric.report").joinpath(f"templates/{name}").read_text(encoding="utf-8")
