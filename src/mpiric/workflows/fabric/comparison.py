"""The routes of a job measured, and the best of them compared with the library's own."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from mpiric.fabric.verdict import best_route, gain_of
from mpiric.model.configuration import Configuration
from mpiric.model.fabric import PairClass, Probe, Route, TransportReport
from mpiric.model.situation import Situation
from mpiric.workflows.fabric.bench import FabricBench
from mpiric.workflows.fabric.routes import network_routes, node_routes

# Gains from which a route is taken to the comparison; on a node noise of neighbours is larger.
_WORTH_IT = {PairClass.OTHER_NODE: 1.05, PairClass.SAME_NUMA: 1.15, PairClass.SAME_NODE: 1.15}
_PROVED = 1.03  # and must keep in each of its rounds
_ON_NODE = (PairClass.SAME_NUMA, PairClass.SAME_NODE)

Say = Callable[[str], None]


def measure_routes(
    bench: FabricBench, situation: Situation, report: TransportReport, default: Route, say: Say
) -> tuple[tuple[Route, ...], dict[Configuration, TransportReport]]:
    """Measure each choice of transport and network that can be written, behind the library's own."""
    on_node = tuple(c for c in _ON_NODE if c in default.probes[0].points)
    plan: list[tuple[Configuration, tuple[PairClass, ...]]]
    plan = [(each, (PairClass.OTHER_NODE,)) for each in network_routes(situation, report)]
    plan += [(each, on_node) for each in node_routes(situation) if on_node]
    routes, reports = [default], {Configuration(): report}
    for configuration, pair_classes in plan:
        say(f"measuring {configuration}")
        route, reports[configuration] = bench.probe_reporting(configuration, situation)
        routes.append(replace(route, pair_classes=pair_classes))
    return tuple(routes), reports


def compare_with_default(
    bench: FabricBench, situation: Situation, routes: Sequence[Route], rounds: int, seed: int, say: Say
) -> tuple[Configuration, tuple[float, ...], list[Probe]]:
    """Compare the best routes for network and node together with the library's own in fresh runs.

    Where they do not hold together, the one for the network alone. The last are the library's own runs.
    """
    again: list[Probe] = []
    found: dict[Configuration, tuple[PairClass, ...]] = {}
    for pair_classes in dict.fromkeys(route.pair_classes for route in routes if route.pair_classes):
        alike = [route for route in routes if route.is_default or route.pair_classes == pair_classes]
        if best := best_route(alike, pair_classes, _WORTH_IT[pair_classes[0]]):
            found[best.configuration] = pair_classes
    for wanted in dict.fromkeys((tuple(found), tuple(found)[:1])):
        if not wanted:
            break
        whole = Configuration.of({name: value for each in wanted for name, value in each.items})
        say(f"comparing {whole} with the library's own choice, {rounds} rounds")
        pairs = bench.interleaved((Configuration(), whole), situation, rounds, seed)
        ran = [(own.probes, other.probes) for own, other in pairs if own.probes]
        again += [probe for own, _ in ran for probe in own]
        gains = [[gain_of(own, other, found[each]) for each in wanted] for own, other in ran]
        if gains and min(map(min, gains)) > _PROVED:
            return whole, tuple(of_round[0] for of_round in gains), again
    return Configuration(), (), again
