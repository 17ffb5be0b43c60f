"""What each layer prints of its transports when asked: one layer a file, ``ASK`` and ``recognise``.

``ASK`` are the variables that make it talk; ``recognise`` takes everything a run printed and gives Words,
empty when the layer said nothing. ``IMPLEMENTATIONS`` are the MPI libraries it belongs to; layers below
have none.
"""

import sys
from collections.abc import Mapping
from functools import reduce

from mpiric.model.fabric import PairClass, Path, Words
from mpiric.model.registry import modules_of


def asking(implementation: str, layers: tuple[str, ...]) -> dict[str, str]:
    """Variables that make a library and the layers below it say what they use."""
    ask: dict[str, str] = {}
    for name, module in modules_of(sys.modules[__name__]).items():
        if implementation in module.IMPLEMENTATIONS or name in layers:
            ask.update(module.ASK)
    return ask


def listen(text: str, implementation: str) -> Words:
    """All that the layers say in one text; the library's own words count before those of the layers below."""
    modules = modules_of(sys.modules[__name__]).values()
    own = [m for m in modules if implementation in m.IMPLEMENTATIONS]
    below = [m for m in modules if not m.IMPLEMENTATIONS]
    return reduce(_joined, (module.recognise(text) for module in (*own, *below)), Words())


def _joined(one: Words, other: Words) -> Words:
    layer = ", ".join(part for part in (one.layer, other.layer) if part)
    why = tuple(dict.fromkeys((*one.why, *other.why)))
    return Words(layer, _paths(one.paths, other.paths), why, one.provider or other.provider)


def _paths(one: Mapping[PairClass, Path], other: Mapping[PairClass, Path]) -> dict[PairClass, Path]:
    joined = dict(one)
    for pair_class, path in other.items():
        known = joined.get(pair_class, Path())
        joined[pair_class] = Path(known.transport or path.transport, known.devices or path.devices)
    return joined
