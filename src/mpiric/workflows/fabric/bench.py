"""Runs of the native probe or of the command: transports, times, and networks in order of speed."""

from collections.abc import Mapping
from dataclasses import replace

from mpiric import knobs, mpis
from mpiric.fabric.probe import asking, carriers, damaged, read_probe, read_report
from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.lab.lab import drive
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.fabric import Moved, PairClass, Route, TransportReport
from mpiric.model.job import Segment, Spelling
from mpiric.model.knob import Skip
from mpiric.model.run import Narrator, Outcome, Phase, Plan, Run
from mpiric.model.situation import Situation
from mpiric.workflows.launch.interchange import ready_to_serve
from mpiric.workflows.trials.users_lab import PrintingRun, printed, users_lab

_SIZES_BYTES = (8, 1024, 65536, 1048576)
_PROBE_LIMIT_S = 90.0
_LINES = 3  # reported lines of a failure


def run_command(situation: Situation, limit_s: float) -> Plan[tuple[TransportReport, Situation]]:
    """Run the command as it is, its libraries reporting; it is ended after the limit.

    The situation then has the ranks of that run.
    """
    trial = yield _run(Configuration(), situation, Spelling(environment=_reporting(situation)), limit_s)
    text = printed(trial)
    if trial.outcome not in (Outcome.OK, Outcome.TIMED_OUT):
        raise ProgramFailedError(
            f"the command {trial.reason} as it stands: {_end(text)}",
            hint="make the command work without mpiric first",
        )
    if trial.ranks:
        count = max(len(trial.ranks), len(situation.observation.ranks))
        ranks = (trial.ranks * count)[:count]  # ranks on other nodes are assumed to be alike
        situation = replace(situation, observation=replace(situation.observation, ranks=ranks))
    return _read(text, situation), situation


def probe_route(
    configuration: Configuration, situation: Situation, host: Host, *, reports: bool = False
) -> Plan[tuple[Route, TransportReport]]:
    """Run the probe in the program's place; with ``reports`` its libraries report what they use."""
    try:
        run = _probe_run(configuration, situation, host, _reporting(situation) if reports else {})
    except MpiricError as error:
        return Route(configuration, refused=error.message), _read("", situation)
    trial = yield run
    text = printed(trial)
    probe, report = read_probe(text), _read(text, situation)
    if trial.outcome is Outcome.OK and probe.points and not damaged(text):
        return Route(configuration, (probe,)), report
    if trial.outcome is Outcome.OK and probe.points:
        reason = "messages came back damaged"
    else:
        reason = trial.reason or "the probe printed nothing"
        reason += f": {_end(text)}" if text else ""
    return Route(configuration, refused=reason), report


def _probe_run(
    configuration: Configuration, situation: Situation, host: Host, variables: Mapping[str, str]
) -> Run:
    """Put the probe where the user's program is. Raises MpiricError where it cannot be put there."""
    job, mpi = situation.job, situation.mpi
    if job.container is not None:
        raise MpiricError(
            f"mpiric's measuring program cannot run in the container {job.container.image}",
            hint="give a program outside of containers, under the same launcher and MPI library",
        )
    program = native_part("probe-mpi", mpi.abi_families[0])
    elf = host.elf(program)
    needed = frozenset(name for name in (elf.needed if elf else ()) if name.startswith("libmpi"))
    served = ready_to_serve((mpi,), needed, mpi, host)[0]
    argv = (program, "fabric", *map(str, _SIZES_BYTES))
    segments = tuple(Segment(segment.options, argv) for segment in job.segments)
    in_place = replace(situation, job=replace(job, segments=segments, stdin=""))
    around = Spelling(environment=variables, library_path=served.library_path)
    return _run(configuration, in_place, around, _PROBE_LIMIT_S)


def _run(configuration: Configuration, situation: Situation, around: Spelling, limit_s: float) -> Run:
    return Run(
        configuration,
        Phase.OBSERVE,
        limit_s=limit_s,
        observe=True,
        probe=PrintingRun(around),
        situation=situation,
    )


def _reporting(situation: Situation) -> dict[str, str]:
    """Return the variables that make the libraries report their transports."""
    return {**asking(), **mpis.ask_connections(situation.mpi.implementation)}


def _read(text: str, situation: Situation) -> TransportReport:
    return read_report(text, mpis.connections(situation.mpi.implementation, text))


def _end(text: str) -> str:
    """Return the end of an output in one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " / ".join(lines[-_LINES:])[:300]


def with_networks(situation: Situation, host: Host, narrator: Narrator) -> Situation:
    """Measure plain TCP between two of the nodes for the knobs, unless there is only one network.

    Nominal rates are not useful: tunnels, bridges and virtual functions report arbitrary values.
    """
    if isinstance(knobs.consider(knobs.all_knobs()["network-interface"], situation), Skip):
        return situation
    with users_lab(situation, host) as lab:
        plan = probe_route(Configuration(), situation, host, reports=True)
        route, report = drive(plan, lab.measure)
    if route.refused:
        narrator.say(f"networks are not measured: {route.refused}")
        return situation
    (probe,) = route.probes
    networks = sorted(probe.networks, key=lambda n: n.latency_us / n.bandwidth_mb_s)
    for network in networks:
        narrator.say(
            f"{network.name}: plain TCP {network.latency_us:.1f} µs, {network.bandwidth_mb_s:.0f} MB/s"
        )
    moved = probe.moved.get(PairClass.OTHER_NODE, Moved())
    used = tuple(carriers(moved, probe.networks))
    return with_network_order(
        situation, tuple(network.name for network in networks), used, report.provider.split(";")[0]
    )


def with_network_order(
    situation: Situation, names: tuple[str, ...], used: tuple[str, ...] = (), provider: str = ""
) -> Situation:
    """Return the situation with its networks in measured order and the networks that the library selects."""
    observation = replace(situation.observation, networks=names, networks_used=used, provider_used=provider)
    return replace(situation, observation=observation)
