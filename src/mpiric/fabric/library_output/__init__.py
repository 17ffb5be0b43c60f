"""Reports that the layers below an MPI library print about their transports, one module per layer.

``ASK`` holds the variables that make a layer print. ``recognise`` takes the complete output of a run and
returns a TransportReport, which is empty if the layer printed nothing.
"""

import sys
from collections.abc import Mapping
from functools import reduce

from mpiric.model.fabric import PairClass, TransportPath, TransportReport
from mpiric.model.registry import modules_of


def asking() -> dict[str, str]:
    """Return the variables that make the layers print the transports they use."""
    modules = modules_of(sys.modules[__name__]).values()
    return {name: value for module in modules for name, value in module.ASK.items()}


def read_report(text: str, library_report: TransportReport) -> TransportReport:
    """Append the reports of all layers in an output to the report of the MPI library itself."""
    modules = modules_of(sys.modules[__name__]).values()
    return reduce(_joined, (module.recognise(text) for module in modules), library_report)


def _joined(first: TransportReport, second: TransportReport) -> TransportReport:
    layer = ", ".join(part for part in (first.layer, second.layer) if part)
    why = tuple(dict.fromkeys((*first.why, *second.why)))
    return TransportReport(layer, _paths(first.paths, second.paths), why, first.provider or second.provider)


def _paths(
    first: Mapping[PairClass, TransportPath], second: Mapping[PairClass, TransportPath]
) -> dict[PairClass, TransportPath]:
    joined = dict(first)
    for pair_class, path in second.items():
        previous = joined.get(pair_class, TransportPath())
        joined[pair_class] = TransportPath(
            previous.transport or path.transport, previous.devices or path.devices
        )
    return joined
