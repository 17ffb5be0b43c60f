"""Kinds of networks, one per file: ``KIND``, and ``described(counts)``, which builds a network."""

import math
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module

from mpiric.mapping.networks._links import adaptive
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import RoutedNetwork
from mpiric.model.registry import modules_of

_MOST = 2**20  # largest number of nodes
_ADAPTIVE = "adaptive"


@cache
def network_kinds() -> dict[str, Callable[[tuple[int, ...]], RoutedNetwork]]:
    """Return the kinds on the command line and the functions that build such networks."""
    modules = modules_of(import_module(__name__))
    return {module.KIND: module.described for module in modules.values()}


def parse_network(text: str) -> RoutedNetwork:
    """Parse ``torus:8x8x4``, ``fat-tree:18x16``, ``dragonfly:4x8x9`` or ``dragonfly+:16x16x5:adaptive``."""
    kind, _, numbers = text.partition(":")
    numbers, _, routing = numbers.partition(":")
    if kind not in network_kinds():
        raise MpiricError(f"unknown kind of network {kind!r}", hint=f"one of {', '.join(network_kinds())}")
    if routing not in ("", _ADAPTIVE) or (routing and kind == "torus"):
        raise MpiricError(
            f"{text!r}: {routing!r} is not a routing of a {kind}", hint="dragonfly:4x8x9:adaptive"
        )
    fields = numbers.split("x")
    if not all(re.fullmatch("[0-9]{1,7}", field) and int(field) > 0 for field in fields):
        raise MpiricError(f"{text!r} does not describe a network", hint="--network torus:8x8x4")
    counts = tuple(int(field) for field in fields)
    if math.prod(counts) > _MOST:
        raise MpiricError(f"{text} has {math.prod(counts)} nodes", hint=f"up to {_MOST} can be described")
    network = network_kinds()[kind](counts)
    return adaptive(network) if routing else network
