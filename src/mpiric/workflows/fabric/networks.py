"""Networks of a job, sorted by their speed with plain TCP."""

from dataclasses import replace

from mpiric import knobs
from mpiric.fabric.carriers import carriers
from mpiric.host.host import Host
from mpiric.lab.lab import drive
from mpiric.model.configuration import Configuration
from mpiric.model.fabric import Moved, PairClass
from mpiric.model.knob import Skip
from mpiric.model.narrator import Narrator
from mpiric.model.situation import Situation
from mpiric.workflows.fabric.bench import probe_route
from mpiric.workflows.trials.users_lab import users_lab


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
