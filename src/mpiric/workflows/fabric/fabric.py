"""Transport that a command uses, alternatives, their speeds, and the settings that select them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mpiric import knobs, mpis
from mpiric.fabric.carriers import varying
from mpiric.fabric.pairs import disturbed_times, pair_reports, warnings_of
from mpiric.fabric.verdict import best_route, gain_of
from mpiric.host.host import Host
from mpiric.lab.render import can_be_written, render
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.fabric import Fabric, PairClass, Probe, Route, TransportReport
from mpiric.model.knob import Try
from mpiric.model.situation import Allowed, Situation
from mpiric.workflows.fabric.bench import FabricBench, fabric_bench
from mpiric.workflows.fabric.history import fabric_baseline
from mpiric.workflows.launch.container_findings import container_findings
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.trials.expected import expected_situation

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


@dataclass(frozen=True)
class FabricRequest:
    """Options of `mpiric fabric`; ``argv`` is the user's launch line."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    limit_s: float = 30.0  # time limit of the command
    rounds: int = 3  # rounds of the final comparison
    seed: int = 0
    keep: int = 1  # runs of the library's default that are kept for later comparisons


def examine(request: FabricRequest, host: Host, say: Callable[[str], None]) -> Fabric:
    """Run the command once with reporting libraries, then the probe with every transport and network."""
    parsed = parse_job(request.argv, host, request.working_directory, request.environment)
    situation = expected_situation(parsed, host, Allowed())
    with fabric_bench(situation, host) as bench:
        command, limit_s = " ".join(request.argv[:4]), request.limit_s
        say(f"running {command} … for at most {limit_s:g} s, its libraries reporting their transports")
        report, situation = bench.run_command(situation, request.working_directory, limit_s)
        default, of_probe = bench.probe_reporting(Configuration(), situation)
        if default.refused:
            raise MpiricError(f"messages cannot be measured: {default.refused}")
        report = report.completed_by(of_probe)
        situation = replace(situation, nodes=len(set(default.probes[0].hosts)) or situation.nodes)
        routes, reports = measure_routes(bench, situation, report, default, say)
        chosen, gains, again = compare_with_default(
            bench, situation, routes, request.rounds, request.seed, say
        )
        if request.keep > 1:
            say(f"{request.keep - 1} more runs as it is, to be kept")
        more = [bench.probe(Configuration(), situation) for _ in range(request.keep - 1)]
        probes = [probe for route in (default, *more) for probe in route.probes]
    pairs = pair_reports(situation.machine.nics, report, routes, reports)
    return Fabric(
        library=situation.mpi.label,
        hosts=tuple(dict.fromkeys(default.probes[0].hosts)),
        pairs=pairs,
        recommended=chosen,
        launch=render(chosen, situation),
        gain=sorted(gains)[len(gains) // 2] if chosen else 1.0,
        spread=(min(gains), max(gains)) if chosen else (1.0, 1.0),
        warnings=(
            *container_findings(parsed, host),
            *knobs.inherited_problems(situation),
            *mpis.foreign_settings(situation.inherited, situation.mpi),
            *warnings_of(situation.machine.nics, situation.mpi.implementation, pairs),
            *disturbed_times(routes),
            *varying([*probes, *again]),
        ),
        networks=default.probes[0].networks,
        host_names=situation.host_names,
        baseline_us=fabric_baseline(probes),
        copy_mb_s=max((probe.copy_mb_s for route in routes for probe in route.probes), default=0.0),
    )
