"""Declaration of a knob: its texts are in _knobs.toml, its domain and functions in the file of its family."""

from collections.abc import Callable
from typing import Any

from mpiric.host.packaged import packaged_table
from mpiric.model.knob import Domain, Knob, Skip, Try
from mpiric.model.situation import Situation


def knob(name: str, domain: Domain, consider: Callable[[Situation], Skip | Try], **more: Any) -> Knob:
    """Return a knob with its texts, the bounds that it touches and its symptoms from _knobs.toml."""
    texts = packaged_table("knobs/_knobs")[name]
    lists = {key: tuple(texts.get(key, ())) for key in ("touches", "symptoms")}
    return Knob(name=name, domain=domain, consider=consider, **{**texts, **lists}, **more)
