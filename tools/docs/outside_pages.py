"""Hook of MkDocs: pages outside `docs` become pages of the site, and links to them work there as on disk.

The formats in `spec/formats`, the measurements in `benchmarks/results` and the pages at the top of the
repository keep their places, since other readers find them there.
"""

import logging
import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PREFIX = "repository/"  # folder of outside pages in the site
SOURCES = ("*.md", "spec/formats/*.md", "benchmarks/results/*.md")
LISTS = {"FORMATS": "spec/formats", "RESULTS": "benchmarks/results"}  # word in `nav` → folder
IN_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()([^)#\s]+)((?:#[^)\s]*)?)(?=\))")
LOG = logging.getLogger("mkdocs.hooks.outside_pages")


def outside_pages() -> list[str]:
    """Return the paths of all outside pages, relative to the repository."""
    paths = (path for pattern in SOURCES for path in ROOT.glob(pattern))
    return sorted(str(path.relative_to(ROOT)) for path in paths)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages of a folder where `nav` has its word."""

    def fill(entry: Any) -> Any:
        if isinstance(entry, list):
            return [fill(part) for part in entry]
        if isinstance(entry, dict):
            return {title: fill(part) for title, part in entry.items()}
        folder = LISTS.get(entry)
        return (
            entry
            if folder is None
            else [PREFIX + path for path in outside_pages() if path.startswith(folder)]
        )

    config.nav = fill(config.nav)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the outside pages."""
    for path in outside_pages():
        files.append(File.generated(config, PREFIX + path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to the place that a file of the repository has in the site; warn of links to nothing."""
    del config
    source = page.file.src_uri
    place = source.removeprefix(PREFIX) if source.startswith(PREFIX) else f"docs/{source}"

    def lead(match: re.Match[str]) -> str:
        link, anchor = match[1], match[2]
        if "://" in link or link.startswith("mailto:"):
            return match[0]
        path = os.path.normpath(os.path.join(os.path.dirname(place), link))  # noqa: PTH118, PTH120
        target = path.removeprefix("docs/") if path.startswith("docs/") else PREFIX + path
        if files.get_file_from_path(target) is not None:
            return os.path.relpath(target, os.path.dirname(source)) + anchor  # noqa: PTH120
        if not (ROOT / path).exists():
            LOG.warning("%s links to %s, which does not exist", place, link)
        return "#"  # a file of the sources, which the site does not have

    code: list[str] = []
    text = IN_CODE.sub(lambda match: code.append(match[0]) or f"\0{len(code) - 1}\0", markdown)
    return re.sub(r"\0(\d+)\0", lambda match: code[int(match[1])], LINK.sub(lead, text))
