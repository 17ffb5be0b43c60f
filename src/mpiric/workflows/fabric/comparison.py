"""Routes of a job: combinations of transport and network, their measurement and comparison."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from mpiric import knobs
from mpiric.fabric.verdict import best_route, gain_of
from mpiric.lab.render import can_be_written, render
from mpiric.model.configuration import Configuration
from mpiric.model.fabric import PairClass, Probe, Route, TransportReport
from mpiric.model.knob import Try
from mpiric.model.situation import Situation
from mpiric.workflows.fabric.bench import FabricBench

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


# Minimum gains of a route for the comparison; noise from neighbours is larger within a node.
_WORTH_IT = {PairClass.OTHER_NODE: 1.05, PairClass.SAME_NUMA: 1.15, PairClass.SAME_NODE: 1.15}
_PROVED = 1.03  # minimum gain in each round of the comparison
_ON_NODE = (PairClass.SAME_NUMA, PairClass.SAME_NODE)

Say = Callable[[str], None]


def measure_routes(
    bench: FabricBench, situation: Situation, report: TransportReport, default: Route, say: Say
) -> tuple[tuple[Route, ...], dict[Configuration, TransportReport]]:
    """Measure each valid choice of transport and network, after the library's default."""
    on_node = tuple(c for c in _ON_NODE if c in default.probes[0].points)
    plan: list[tuple[Configuration, tuple[PairClass, ...]]]
    plan = [(route, (PairClass.OTHER_NODE,)) for route in network_routes(situation, report)]
    plan += [(route, on_node) for route in node_routes(situation) if on_node]
    routes, reports = [default], {Configuration(): report}
    for configuration, pair_classes in plan:
        say(f"measuring {configuration}")
        route, reports[configuration] = bench.probe_reporting(configuration, situation)
        routes.append(replace(route, pair_classes=pair_classes))
    return tuple(routes), reports


def compare_with_default(
    bench: FabricBench, situation: Situation, routes: Sequence[Route], rounds: int, seed: int, say: Say
) -> tuple[Configuration, tuple[float, ...], list[Probe]]:
    """Compare the best routes for network and node with the library's default in new runs.

    If they do not work together, only the network's route is compared. The last item contains the default's
    runs.
    """
    again: list[Probe] = []
    classes_of_route: dict[Configuration, tuple[PairClass, ...]] = {}
    for pair_classes in dict.fromkeys(route.pair_classes for route in routes if route.pair_classes):
        alike = [route for route in routes if route.is_default or route.pair_classes == pair_classes]
        if best := best_route(alike, pair_classes, _WORTH_IT[pair_classes[0]]):
            classes_of_route[best.configuration] = pair_classes
    for chosen in dict.fromkeys((tuple(classes_of_route), tuple(classes_of_route)[:1])):
        if not chosen:
            break
        combined = Configuration.of({name: value for route in chosen for name, value in route.items})
        say(f"comparing {combined} with the library's own choice, {rounds} rounds")
        pairs = bench.interleaved((Configuration(), combined), situation, rounds, seed)
        ran = [(default.probes, other.probes) for default, other in pairs if default.probes]
        again += [probe for default, _ in ran for probe in default]
        gains = [
            [gain_of(default, other, classes_of_route[route]) for route in chosen] for default, other in ran
        ]
        if gains and min(map(min, gains)) > _PROVED:
            return combined, tuple(of_round[0] for of_round in gains), again
    return Configuration(), (), again
