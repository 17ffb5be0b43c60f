"""Combinations of transport and network that a library could use for a job, as knob values."""

from collections.abc import Iterator

from mpiric import knobs
from mpiric.lab.render import can_be_written, render
from mpiric.model.configuration import Configuration
from mpiric.model.fabric import TransportReport
from mpiric.model.knob import Try
from mpiric.model.situation import Situation

_IN_USE = {"netmod ucx": "ucx", "netmod ofi": "ofi", "pml ob1": "own", "pml ucx": "ucx", "mtl ofi": "ofi"}


def network_routes(situation: Situation, report: TransportReport) -> tuple[Configuration, ...]:
    """Return the valid routes between nodes: library × provider × interface, without duplicates."""
    if situation.nodes < 2:
        return ()
    by_line: dict[str, Configuration] = {}
    for values in _network_values(situation, report):
        configuration = Configuration.of(values)
        if can_be_written(configuration, situation):
            line = render(configuration, situation).shell_line()
            by_line.setdefault(line, configuration)
    default_line = render(Configuration(), situation).shell_line()
    return tuple(configuration for line, configuration in by_line.items() if line != default_line)


def node_routes(situation: Situation) -> tuple[Configuration, ...]:
    """Return the routes within a node: one knob each."""
    names = ["node-transport", "single-copy"]
    names += ["network-library"] if situation.nodes == 1 else []
    routes = (Configuration(((name, value),)) for name in names for value in _values(name, situation))
    return tuple(configuration for configuration in routes if can_be_written(configuration, situation))


def _network_values(situation: Situation, report: TransportReport) -> Iterator[dict[str, str]]:
    interfaces = _values("network-interface", situation)
    used = next((library for name, library in _IN_USE.items() if name in report.layer), "")
    libraries = [library for library in _values("network-library", situation) if library != used]
    for library in ("", *libraries):
        base = {"network-library": library} if library else {}
        for provider in ("", *_providers(situation, library or used, report)):
            values = {**base, **({"ofi-provider": provider} if provider else {})}
            if values and not interfaces:
                yield values
            yield from ({**values, "network-interface": interface} for interface in interfaces)
    yield from ({"host-names": network} for network in _values("host-names", situation))


def _providers(situation: Situation, library: str, report: TransportReport) -> tuple[str, ...]:
    if library != "ofi" and not situation.mpi.capabilities.only_over_libfabric:
        return ()
    used = report.provider.split(";")[0]
    return tuple(name for name in _values("ofi-provider", situation) if name != used)


def _values(name: str, situation: Situation) -> tuple[str, ...]:
    answer = knobs.consider(knobs.all_knobs()[name], situation)
    return answer.values if isinstance(answer, Try) else ()
