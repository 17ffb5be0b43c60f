"""Transport that a command uses, alternatives, their speeds, and the settings that select them."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

from mpiric import knobs, mpis
from mpiric.fabric.pairs import disturbed_times, pair_reports, warnings_of
from mpiric.fabric.probe import varying
from mpiric.fabric.verdict import best_route, gain_of, typical_us
from mpiric.host.files import LARGEST_TEXT_BYTES, read_bounded
from mpiric.host.host import Host
from mpiric.lab.lab import drive
from mpiric.lab.render import can_be_written, render
from mpiric.model.amount import counted
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.fabric import Fabric, PairClass, Probe, Route, TransportReport
from mpiric.model.json_text import parse_json
from mpiric.model.knob import Try
from mpiric.model.run import Plan
from mpiric.model.situation import Allowed, Situation
from mpiric.statistics.regression import Regression, compare_days, runs_needed
from mpiric.workflows.fabric.bench import probe_route, run_command
from mpiric.workflows.launch.findings import container_findings
from mpiric.workflows.launch.parse_job import ParsedJob, parse_job
from mpiric.workflows.trials.expected import expected_situation
from mpiric.workflows.trials.users_lab import users_lab

_IN_USE = {"netmod ucx": "ucx", "netmod ofi": "ofi", "pml ob1": "own", "pml ucx": "ucx", "mtl ofi": "ofi"}
_HINT = "keep one: mpiric fabric --keep 6 --json -- CMD > FILE"
_SMALL_PROGRAM = "try the launcher with a small MPI program: mpiric mpi list --check"


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


def examine(request: FabricRequest, host: Host, say: Say) -> Fabric:
    """Run the command once with its libraries reporting, then the probe over every transport and network."""
    parsed = parse_job(request.argv, host, request.working_directory, request.environment)
    situation = expected_situation(parsed, host, Allowed())
    with users_lab(situation, host) as lab:
        return drive(_examined(request, parsed, situation, host, say), lab.measure)


def _examined(
    request: FabricRequest, parsed: ParsedJob, situation: Situation, host: Host, say: Say
) -> Plan[Fabric]:
    command, limit_s = " ".join(request.argv[:4]), request.limit_s
    say(f"running {command} … for at most {limit_s:g} s, its libraries reporting their transports")
    report, situation = yield from run_command(situation, limit_s)
    default, of_probe = yield from probe_route(Configuration(), situation, host, reports=True)
    if default.refused:
        raise MpiricError(f"messages cannot be measured: {default.refused}", hint=_SMALL_PROGRAM)
    report = report.completed_by(of_probe)
    situation = replace(situation, nodes=len(set(default.probes[0].hosts)) or situation.nodes)
    routes, reports = yield from _measure_routes(situation, host, report, default, say)
    chosen, gains, again = yield from _compare_with_default(situation, host, routes, request, say)
    if request.keep > 1:
        say(f"{counted(request.keep - 1, 'more run')} without changes, for the baseline")
    probes = [*default.probes]
    for _ in range(request.keep - 1):
        route, _ = yield from probe_route(Configuration(), situation, host)
        probes += route.probes
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
            *warnings_of(situation.machine.nics, situation.mpi.label, pairs),
            *disturbed_times(routes),
            *varying([*probes, *again]),
        ),
        networks=default.probes[0].networks,
        host_names=situation.host_names,
        baseline_us=fabric_baseline(probes),
        copy_mb_s=max((probe.copy_mb_s for route in routes for probe in route.probes), default=0.0),
    )


def _measure_routes(
    situation: Situation, host: Host, report: TransportReport, default: Route, say: Say
) -> Plan[tuple[tuple[Route, ...], dict[Configuration, TransportReport]]]:
    """Measure each choice of transport and network that can be written, behind the library's own."""
    on_node = tuple(c for c in _ON_NODE if c in default.probes[0].points)
    plan: list[tuple[Configuration, tuple[PairClass, ...]]]
    plan = [(route, (PairClass.OTHER_NODE,)) for route in network_routes(situation, report)]
    plan += [(route, on_node) for route in node_routes(situation) if on_node]
    routes, reports = [default], {Configuration(): report}
    for configuration, pair_classes in plan:
        say(f"measuring {configuration}")
        route, reports[configuration] = yield from probe_route(configuration, situation, host, reports=True)
        routes.append(replace(route, pair_classes=pair_classes))
    return tuple(routes), reports


def _compare_with_default(
    situation: Situation, host: Host, routes: Sequence[Route], request: FabricRequest, say: Say
) -> Plan[tuple[Configuration, tuple[float, ...], list[Probe]]]:
    """Compare the best routes for network and node together with the library's own in fresh runs.

    Rounds are in random order, and a run that fails is made again in the next round. Where the routes do not
    hold together, the one for the network alone is compared. The last are the library's own runs.
    """
    again: list[Probe] = []
    best_routes: dict[Configuration, tuple[PairClass, ...]] = {}
    for pair_classes in dict.fromkeys(route.pair_classes for route in routes if route.pair_classes):
        alike = [route for route in routes if route.is_default or route.pair_classes == pair_classes]
        if best := best_route(alike, pair_classes, _WORTH_IT[pair_classes[0]]):
            best_routes[best.configuration] = pair_classes
    for candidates in dict.fromkeys((tuple(best_routes), tuple(best_routes)[:1])):
        if not candidates:
            break
        combined = Configuration.of({name: value for route in candidates for name, value in route.items})
        say(f"comparing {combined} with the library's own choice, {request.rounds} rounds")
        order = random.Random(request.seed)  # noqa: S311 an order, not a secret
        gains: list[list[float]] = []
        for _ in range(request.rounds):
            both = [Configuration(), combined]
            order.shuffle(both)
            measured: dict[Configuration, Route] = {}
            for configuration in both:
                measured[configuration], _ = yield from probe_route(configuration, situation, host)
            default, other = measured[Configuration()].probes, measured[combined].probes
            if default:
                again += default
                gains.append([gain_of(default, other, best_routes[route]) for route in candidates])
        if gains and min(map(min, gains)) > _PROVED:
            return combined, tuple(of_round[0] for of_round in gains), again
    return Configuration(), (), again


def fabric_baseline(probes: Sequence[Probe]) -> dict[PairClass, tuple[float, ...]]:
    """Return one number per run for each class of pairs: the geometric mean over message sizes, in µs."""
    classes = [c for c in PairClass if probes and c in probes[0].points]
    return {c: tuple(typical_us(probe, c) for probe in probes if c in probe.points) for c in classes}


def against_fabric(
    path: Path,
    argv: Sequence[str],
    working_directory: str,
    host: Host,
    say: Callable[[str], None],
    confidence: float,
    minimum_effect: float,
) -> Mapping[PairClass, Regression]:
    """Return the comparison with a stored result for each class. Raises MpiricError without a baseline."""
    then = _read(path)
    runs = max(filter(None, (runs_needed(len(values), confidence) for values in then.values())), default=None)
    if runs is None:
        raise MpiricError(
            f"{path} has too few runs to compare with at this confidence",
            hint="keep one with more: mpiric fabric --keep 6 --json -- CMD > FILE",
        )
    parsed = parse_job(argv, host, working_directory, dict(host.environ))
    situation = expected_situation(parsed, host, Allowed())
    probes: list[Probe] = []
    with users_lab(situation, host) as lab:
        for number in range(runs):
            say(f"measuring again, {number + 1} of {runs}")
            route, _ = drive(probe_route(Configuration(), situation, host), lab.measure)
            if route.refused:
                raise MpiricError(f"messages cannot be measured: {route.refused}", hint=_SMALL_PROGRAM)
            probes += route.probes
    now = fabric_baseline(probes)
    return {c: compare_days(then[c], now[c], confidence, minimum_effect) for c in then if c in now}


def _read(path: Path) -> dict[PairClass, tuple[float, ...]]:
    try:
        stored = parse_json(read_bounded(path, "baseline", LARGEST_TEXT_BYTES, _HINT))["baseline_us"]
        baseline = {
            PairClass(name): tuple(float(value) for value in values) for name, values in stored.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise MpiricError(f"{path} is not a baseline of `mpiric fabric`", hint=_HINT) from error
    if not baseline or any(not 0 < value < inf for values in baseline.values() for value in values):
        raise MpiricError(f"{path} holds no times", hint="keep one: mpiric fabric --keep 6 --json -- CMD")
    return baseline
