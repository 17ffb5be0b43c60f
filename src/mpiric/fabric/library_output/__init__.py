"""What the layers below an MPI library print of their transports when asked: one layer a file.

``ASK`` are the variables that make a layer print; ``recognise`` takes everything a run printed and returns a
TransportReport, empty when the layer printed nothing.
"""

import sys
from collections.abc import Mapping
from functools import reduce

from mpiric.model.fabric import PairClass, Path, TransportReport
from mpiric.model.registry import modules_of


def asking() -> dict[str, str]:
    """Variables that make the layers print what they use."""
    modules = modules_of(sys.modules[__name__]).values()
    return {name: value for module in modules for name, value in module.ASK.items()}


def read_report(text: str, own: TransportReport) -> TransportReport:
    """What the layers print in one text, behind the report of the MPI library itself (``own``)."""
    modules = modules_of(sys.modules[__name__]).values()
    return reduce(_joined, (module.recognise(text) for module in modules), own)


def _joined(first: TransportReport, second: TransportReport) -> TransportReport:
    layer = ", ".join(part for part in (first.layer, second.layer) if part)
    why = tuple(dict.fromkeys((*first.why, *second.why)))
    return TransportReport(layer, _paths(first.paths, second.paths), why, first.provider or second.provider)


def _paths(first: Mapping[PairClass, Path], second: Mapping[PairClass, Path]) -> dict[PairClass, Path]:
    joined = dict(first)
    for pair_class, path in second.items():
        known = joined.get(pair_class, Path())
        joined[pair_class] = Path(known.transport or path.transport, known.devices or path.devices)
    return joined
