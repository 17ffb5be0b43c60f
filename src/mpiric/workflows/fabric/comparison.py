"""Measurement of a job's routes, and comparison of the best ones with the library's default."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from mpiric.fabric.verdict import best_route, gain_of
from mpiric.model.configuration import Configuration
from mpiric.model.fabric import PairClass, Probe, Route, TransportReport
from mpiric.model.situation import Situation
from mpiric.workflows.fabric.bench import FabricBench
from mpiric.workflows.fabric.routes import network_routes, node_routes

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
