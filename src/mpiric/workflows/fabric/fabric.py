"""Transport that a command uses, alternatives, their speeds, and the settings that select them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from mpiric import knobs, mpis
from mpiric.fabric.carriers import varying
from mpiric.fabric.pairs import disturbed_times, pair_reports, warnings_of
from mpiric.host.host import Host
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.fabric import Fabric
from mpiric.model.situation import Allowed
from mpiric.workflows.fabric.bench import fabric_bench
from mpiric.workflows.fabric.comparison import compare_with_default, measure_routes
from mpiric.workflows.fabric.history import fabric_baseline
from mpiric.workflows.launch.container_findings import container_findings
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.trials.expected import expected_situation


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
