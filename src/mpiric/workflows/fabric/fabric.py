"""Which transport a command really uses, what else there is, which is faster, and what selects it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from mpiric import knobs, mpis
from mpiric.fabric import words as libraries_words
from mpiric.fabric.carriers import varying
from mpiric.fabric.pairs import pair_reports, warnings_of
from mpiric.fabric.verdict import best_way, gain_of
from mpiric.host.host import Host
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.fabric import Fabric, PairClass, Probe, Way, Words
from mpiric.model.situation import Allowed, Situation
from mpiric.model.trial import Outcome
from mpiric.workflows.fabric.history import fabric_baseline
from mpiric.workflows.fabric.probe import FabricBench, bench, render_asking
from mpiric.workflows.fabric.routes import network_ways, node_ways
from mpiric.workflows.launch.host_names import with_host_names
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.launch.spelling import render
from mpiric.workflows.trials.observe import expected_situation

# Gains from which a route is taken to the comparison; on a node noise of neighbours is larger.
_WORTH_IT = {PairClass.OTHER_NODE: 1.05, PairClass.SAME_NUMA: 1.15, PairClass.SAME_NODE: 1.15}
_PROVED = 1.03  # and must keep in each of its rounds
_ON_NODE = (PairClass.SAME_NUMA, PairClass.SAME_NODE)

Say = Callable[[str], None]


@dataclass(frozen=True)
class FabricRequest:
    """The options of `mpiric fabric`; ``argv`` is the user's launch line."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    limit_s: float = 30.0  # the command itself is ended after that
    rounds: int = 3  # of the last comparison
    seed: int = 0
    keep: int = 1  # runs of the library's own choice that are kept, for comparisons on another day


def examine(request: FabricRequest, host: Host, say: Say) -> Fabric:
    """Run the command once with its libraries talking, then the probe over every transport and network."""
    parsed = parse_job(request.argv, host, request.working_directory, request.environment)
    situation = with_host_names(expected_situation(parsed, host, Allowed()), host)
    with bench(host) as it:
        words, situation = _listen(it, request, situation, say)
        default, text = it.probe(Configuration(), situation, _ask(situation))
        if default.refused:
            raise MpiricError(f"messages cannot be measured: {default.refused}")
        words = _completed_by(words, _heard(text, situation))
        situation = replace(situation, nodes=len(set(default.probes[0].hosts)) or situation.nodes)
        ways, heard = _measure(it, situation, words, default, say)
        chosen, gains, again = _compare(it, request, situation, ways, say)
        kept = [*default.probes, *_again(it, situation, request.keep - 1, say)]
    pairs = pair_reports(situation.machine.nics, words, ways, heard)
    return Fabric(
        library=situation.mpi.label,
        hosts=tuple(dict.fromkeys(default.probes[0].hosts)),
        pairs=pairs,
        recommended=chosen,
        launch=render(chosen, situation),
        gain=sorted(gains)[len(gains) // 2] if chosen else 1.0,
        spread=(min(gains), max(gains)) if chosen else (1.0, 1.0),
        warnings=(
            *knobs.inherited_problems(situation),
            *mpis.foreign_settings(situation.inherited, situation.mpi),
            *warnings_of(situation.machine.nics, situation.mpi.implementation, pairs),
            *varying([*kept, *again]),
        ),
        networks=default.probes[0].networks,
        host_names=situation.host_names,
        baseline_us=fabric_baseline(kept),
        copy_mb_s=max((probe.copy_mb_s for way in ways for probe in way.probes), default=0.0),
    )


def _again(it: FabricBench, situation: Situation, runs: int, say: Say) -> list[Probe]:
    if runs > 0:
        say(f"{runs} more runs as it is, to be kept")
    return [probe for _ in range(runs) for probe in it.probe(Configuration(), situation)[0].probes]


def _ask(situation: Situation) -> dict[str, str]:
    return {**libraries_words.asking(), **mpis.ask_connections(situation.mpi.implementation)}


def _heard(text: str, situation: Situation) -> Words:
    return libraries_words.listen(text, mpis.connections(situation.mpi.implementation, text))


def _listen(
    it: FabricBench, request: FabricRequest, situation: Situation, say: Say
) -> tuple[Words, Situation]:
    """The user's command as it is, with its libraries talking; ended when it takes long."""
    say(f"running {' '.join(request.argv[:4])} … for at most {request.limit_s:g} s, its libraries talking")
    launch = render_asking(Configuration(), situation, _ask(situation))
    output = it.run(launch, situation, request.working_directory, request.limit_s)
    if output.execution.outcome not in (Outcome.OK, Outcome.TIMED_OUT):
        raise ProgramFailedError(
            f"the command {output.execution.reason} as it stands: {output.last_words}",
            hint="make it run by itself first",
        )
    if output.execution.ranks:
        seen = replace(situation.observation, ranks=output.execution.ranks)
        count = max(len(seen.ranks), len(situation.observation.ranks))
        seen = replace(seen, ranks=(seen.ranks * count)[:count])  # those on other nodes are alike
        situation = replace(situation, observation=seen)
    return _heard(output.text, situation), situation


def _completed_by(run: Words, probe: Words) -> Words:
    """The run's own words, and the probe's for pairs that did not talk in the run."""
    if not run.layer:
        return probe
    return replace(run, paths={**probe.paths, **run.paths}, why=tuple(dict.fromkeys((*run.why, *probe.why))))


def _measure(
    it: FabricBench, situation: Situation, words: Words, default: Way, say: Say
) -> tuple[tuple[Way, ...], dict[Configuration, Words]]:
    on_node = tuple(c for c in _ON_NODE if c in default.probes[0].points)
    plan: list[tuple[Configuration, tuple[PairClass, ...]]]
    plan = [(each, (PairClass.OTHER_NODE,)) for each in network_ways(situation, words)]
    plan += [(each, on_node) for each in node_ways(situation) if on_node]
    ways, heard = [default], {Configuration(): words}
    for configuration, about in plan:
        say(f"measuring {configuration}")
        way, text = it.probe(configuration, situation, _ask(situation))
        heard[configuration] = _heard(text, situation)
        ways.append(replace(way, about=about))
    return tuple(ways), heard


def _compare(
    it: FabricBench, request: FabricRequest, situation: Situation, ways: Sequence[Way], say: Say
) -> tuple[Configuration, tuple[float, ...], list[Probe]]:
    """Compare the best routes for network and node together with the library's own in fresh runs.

    Where they do not hold together, the one for the network alone. The last are the library's own runs.
    """
    again: list[Probe] = []
    found: dict[Configuration, tuple[PairClass, ...]] = {}
    for about in dict.fromkeys(way.about for way in ways if way.about):
        alike = [way for way in ways if way.is_default or way.about == about]
        if best := best_way(alike, about, _WORTH_IT[about[0]]):
            found[best.configuration] = about
    for wanted in dict.fromkeys((tuple(found), tuple(found)[:1])):
        if not wanted:
            break
        whole = Configuration.of({name: value for each in wanted for name, value in each.items})
        say(f"comparing {whole} with the library's own choice, {request.rounds} rounds")
        pairs = it.interleaved((Configuration(), whole), situation, request.rounds, request.seed)
        ran = [(own.probes, other.probes) for own, other in pairs if own.probes]
        again += [probe for own, _ in ran for probe in own]
        rounds = [[gain_of(own, other, found[each]) for each in wanted] for own, other in ran]
        if rounds and min(map(min, rounds)) > _PROVED:
            return whole, tuple(gains[0] for gains in rounds), again
    return Configuration(), (), again
