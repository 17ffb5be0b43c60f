"""Stored texts of the recorded cases, one file per case."""

import difflib
from pathlib import Path

DIRECTORY = Path(__file__).parents[1] / "data/recorded"
_MOST_LINES = 200  # maximum number of printed lines of a difference


def path_of(family: str, name: str) -> Path:
    """Return the path of the stored text of a case."""
    return DIRECTORY / family / f"{name}.txt"


def difference(family: str, name: str, text: str) -> str:
    """Return the difference between stored and present text as a unified diff, "" if there is none."""
    path = path_of(family, name)
    expected = path.read_text(encoding="utf-8") if path.is_file() else ""
    if expected == text:
        return ""
    lines = list(
        difflib.unified_diff(
            expected.splitlines(), text.splitlines(), f"expected {family}/{name}", "now", lineterm="", n=2
        )
    )
    more = f"\n... and {len(lines) - _MOST_LINES} more lines" if len(lines) > _MOST_LINES else ""
    return "\n".join(lines[:_MOST_LINES]) + more


def write(family: str, name: str, text: str) -> bool:
    """Store the text of a case; return whether it has changed."""
    path = path_of(family, name)
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True
