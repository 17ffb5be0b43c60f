"""Durations, as users write and read them."""

import re

from mpiric.model.errors import MpiricError

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST_S = 30 * 86400.0


def parse_duration(text: str) -> float:
    """Return the seconds of ``90s``, ``10m``, ``1h30m``, ``2.5h`` or a plain number. Raises MpiricError."""
    compact = text.strip().lower()
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", compact, re.ASCII)
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", compact, re.ASCII):
        seconds = float(compact)
    elif parts and "".join(number + unit for number, unit in parts) == compact and len(compact) <= 40:
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    else:
        raise MpiricError(f"not a duration: {text!r}", hint="write it as 90s, 10m or 1h30m")
    if not 0 < seconds <= _LONGEST_S:
        raise MpiricError(f"a duration must be between 0 and 30 days: {text!r}", hint="for example 10m")
    return seconds


def show_duration(seconds: float) -> str:
    """Return a duration as text: ``0.31 s``, ``42 s``, ``3 min 5 s``, ``2 h 10 min``."""
    if seconds < 10:
        return f"{max(seconds, 0.0):.3g} s"
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min" + (f" {rounded % 60} s" if rounded % 60 else "")
    return f"{rounded // 3600} h" + (f" {rounded % 3600 // 60} min" if rounded % 3600 // 60 else "")
