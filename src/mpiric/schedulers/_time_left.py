"""Remaining time of a job in the formats of schedulers."""

import re
from math import inf

_CLOCK = re.compile(
    r"(?:([0-9]{1,9})-)?(?:([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,9})"
)  # [days-][hours:]minutes:seconds


def clock_s(text: str) -> float | None:
    """Parse ``1-02:03:04`` or ``03:04`` as seconds; infinite for words such as UNLIMITED, None if invalid."""
    word = text.strip().lower()
    if word in ("unlimited", "infinite", "not_set"):
        return inf
    match = _CLOCK.fullmatch(word)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
