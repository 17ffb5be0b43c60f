"""Version numbers in the output of launchers and libraries."""

import re
from collections.abc import Callable


def version_by(pattern: str) -> Callable[[str], str | None]:
    """Return a function that returns the first group of ``pattern`` in a text, or None without a match."""
    compiled = re.compile(pattern)

    def recognise(text: str) -> str | None:
        match = compiled.search(text)
        return match[1] if match else None

    return recognise
