"""Versions out of what launchers print for ``--version``."""

import re
from collections.abc import Callable


def version_by(pattern: str) -> Callable[[str], str | None]:
    """A recogniser that gives the first group of ``pattern``, or None when the text does not match."""
    compiled = re.compile(pattern)

    def recognise(text: str) -> str | None:
        match = compiled.search(text)
        return match[1] if match else None

    return recognise


def never(_text: str) -> str | None:
    """Recognise nothing: the launcher prints no banner, or none that distinguishes it from others."""
    return None
