"""Report on a record as one self-contained page: works offline, on phones, in print, in light and dark mode.

Charts are drawn by Apache ECharts, which is embedded
in the page; tables have the same data, so that only the pictures are missing without the library.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from mpiric.model.profile import Profile
from mpiric.report._pages import library, page, template, template_text
from mpiric.report.sections import SECTIONS

LIBRARY = "echarts.min.js"  # put into library/ by `make setup` and by the build of the wheel


def profile_html(profile: Profile, version: str) -> str:
    """Render the page."""
    data: dict[str, Any] = {}
    sections = list(_sections(profile, data))
    charts = charts_library()
    strict = '"use strict";\n'
    script = template_text("charts.js").replace(strict, strict + template_text("matrix.js"), 1)
    return page(
        "profile.html",
        profile=profile,
        library=library(profile),
        sections=sections,
        version=version,
        data=Markup(in_script(json.dumps(data, separators=(",", ":")))),  # noqa: S704 escaped for its place
        charts=Markup(in_script(charts)),  # noqa: S704 a file of the installation
        script=Markup(script),  # noqa: S704 our own files
    )


def in_script(text: str) -> str:
    """Escape text between <script> tags so that it cannot end or comment out the element."""
    return text.replace("</", "<\\/").replace("<!--", "<\\!--")


@lru_cache
def charts_library() -> str:
    """Return the text of the chart library, "" if it is not installed."""
    path = files("mpiric.report").joinpath(f"library/{LIBRARY}")
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _sections(profile: Profile, data: dict[str, Any]) -> Iterator[tuple[str, str, Markup]]:
    """Yield name, title and body of each section; chart data is added to ``data``."""
    for name, (title, view_of) in SECTIONS.items():
        view = view_of(profile)
        if "chart" in view:
            data[name] = view.pop("chart")
        rendered = template(f"profile/{name}.html").render(profile=profile, **view)
        body = Markup(rendered)  # noqa: S704 rendered with autoescape
        yield name, title, body
