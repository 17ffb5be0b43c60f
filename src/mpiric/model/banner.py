"""Versions out of what launchers and libraries print of themselves."""

import re
from collections.abc import Callable


def version_by(pattern: str) -> Callable[[str], str | None]:
    """A recogniser that gives the first group of ``pattern``, or None when the text does not match."""
    compiled = re.compile(pattern)

    def recognise(text: str) -> str | None:
        match = compiled.search(text)
        return match[1] if match else None

    return recognise
