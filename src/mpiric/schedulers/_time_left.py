"""What is left of a job's time, as schedulers write it."""

import re
from math import inf

_CLOCK = re.compile(
    r"(?:([0-9]{1,9})-)?(?:([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,9})"
)  # [days-][hours:]minutes:seconds


def clock_s(text: str) -> float | None:
    """``1-02:03:04`` or ``03:04`` in seconds; infinite for a word that says so, None for what is no time."""
    word = text.strip().lower()
    if word in ("unlimited", "infinite", "not_set"):
        return inf
    found = _CLOCK.fullmatch(word)
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
