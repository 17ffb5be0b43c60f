"""Transport reports, bytes and times of each route → a report per class of rank pairs, and findings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mpiric.fabric.networks import kinds, misdriven
from mpiric.fabric.probe import carriers, contradiction, in_words
from mpiric.fabric.verdict import all_times_us, disturbed, winners
from mpiric.model.configuration import Configuration
from mpiric.model.errors import Finding
from mpiric.model.fabric import (
    Alternative,
    Moved,
    PairClass,
    PairReport,
    PlainNetwork,
    Probe,
    Route,
    TransportPath,
    TransportReport,
)
from mpiric.model.machine import Nic

_SLOWER = 1.2  # speedup from which a better route is worth a warning

Reports = Mapping[Configuration, TransportReport]


def pair_reports(
    nics: Sequence[Nic], report: TransportReport, routes: Sequence[Route], reports: Reports
) -> tuple[PairReport, ...]:
    """Return a report for each class of pairs, nearest first; ``routes`` includes the library's default."""
    default = next(route for route in routes if route.is_default)
    present = [c for c in PairClass if default.probes and c in default.probes[0].points]
    return tuple(_report(pair_class, nics, report, routes, reports, default) for pair_class in present)


def _report(
    pair_class: PairClass,
    nics: Sequence[Nic],
    report: TransportReport,
    routes: Sequence[Route],
    reports: Reports,
    default: Route,
) -> PairReport:
    probe = default.probes[0]
    moved, path = probe.moved.get(pair_class, Moved()), report.paths.get(pair_class, TransportPath())
    carried = carriers(moved, probe.networks) if pair_class is PairClass.OTHER_NODE else {}
    times = all_times_us(default.probes, pair_class)
    disagreement = contradiction(path, carried)
    return PairReport(
        pair_class=pair_class,
        layer=report.layer,
        transport=_transport(pair_class, path, moved, carried),
        devices=tuple(carried) or path.devices,
        why=(*report.why, *([disagreement] if disagreement else [])) if _is_remote(pair_class) else (),
        seen=in_words(pair_class, moved, carried),
        latency_us=times[min(times)],
        bandwidth_mb_s=_bandwidth(times),
        possible=_possible(pair_class, nics, probe, tuple(carried) or path.devices),
        alternatives=tuple(_alternatives(pair_class, routes, reports)),
        winners=winners(
            [route for route in routes if route.is_default or pair_class in route.pair_classes], pair_class
        ),
    )


def _is_remote(pair_class: PairClass) -> bool:
    return pair_class is PairClass.OTHER_NODE


def _bandwidth(times: Mapping[int, float]) -> float:
    return max(times) / times[max(times)]


def _transport(pair_class: PairClass, path: TransportPath, moved: Moved, carried: Mapping[str, int]) -> str:
    """Return the transport that the library reports, else the transport that the traffic shows."""
    if path.transport:
        return path.transport
    if pair_class is PairClass.SELF:
        return "self"
    if not _is_remote(pair_class):
        return "shared memory" if moved.shared else "unknown"
    return "tcp" if moved.sockets and carried else "unknown"


def _possible(pair_class: PairClass, nics: Sequence[Nic], probe: Probe, devices: Iterable[str]) -> str:
    """Describe the limits of each device: ``eth0: plain TCP 1117 µs, 12 MB/s, its link of …``."""
    if not _is_remote(pair_class):
        return f"one core copies {probe.copy_mb_s:.0f} MB/s" if probe.copy_mb_s else ""
    plain = {network.name: network for network in probe.networks}
    nics_by_name = {nic.name: nic for nic in nics}
    return "; ".join(filter(None, (_device(name.split(":")[0], plain, nics_by_name) for name in devices)))


def _device(name: str, plain: Mapping[str, PlainNetwork], nics_by_name: Mapping[str, Nic]) -> str:
    parts = []
    if name in plain:
        network = plain[name]
        parts.append(f"plain TCP {network.latency_us:.1f} µs, {network.bandwidth_mb_s:.0f} MB/s")
    nic = nics_by_name.get(name)
    # The rate of a virtual interface is fictitious.
    if nic and nic.speed_mbit and nic.kind in kinds() and nic.kind != "virtual":
        expected_mb_s = nic.speed_mbit / 8 * kinds()[nic.kind].share
        parts.append(f"its link of {nic.speed_mbit} Mbit/s should give {expected_mb_s:.0f} MB/s")
    return f"{name}: {', '.join(parts)}" if parts else ""


def _alternatives(pair_class: PairClass, routes: Sequence[Route], reports: Reports) -> Iterator[Alternative]:
    for route in routes:
        times = all_times_us(route.probes, pair_class)
        if route.is_default or pair_class not in route.pair_classes:
            continue
        path = reports.get(route.configuration, TransportReport()).paths.get(pair_class, TransportPath())
        probe = route.probes[0] if route.probes else Probe()
        moved = probe.moved.get(pair_class, Moved())
        carried = carriers(moved, probe.networks) if _is_remote(pair_class) else {}
        yield Alternative(
            route.configuration,
            _transport(pair_class, path, moved, carried),
            tuple(carried) or path.devices,
            times[min(times)] if times else 0.0,
            _bandwidth(times) if times else 0.0,
            route.refused,
        )


def disturbed_times(routes: Sequence[Route]) -> tuple[Finding, ...]:
    """Return a finding if the kernel's scheduler determined some of the measured times."""
    disturbances = [
        (route.configuration, pair_class, size, why)
        for route in routes
        for probe in route.probes
        for pair_class in probe.points
        for size, why in disturbed(probe, pair_class).items()
    ]
    if not disturbances:
        return ()
    configuration, pair_class, size, why = disturbances[0]
    setting = str(configuration) if configuration else "default settings"
    return (
        Finding(
            "disturbed-times",
            f"{len(disturbances)} times were determined by the kernel's scheduler and were not compared",
            f"{pair_class.value}, {setting}, {size} bytes: {why}",
            "measure with one CPU per rank and without other load on the nodes",
        ),
    )


def warnings_of(nics: Sequence[Nic], library: str, pairs: Sequence[PairReport]) -> tuple[Finding, ...]:
    """Return problems of the routes that the library with this label chose, most expensive kinds first."""
    return tuple(finding for pair in pairs for finding in _warnings(nics, library, pair))


def _warnings(nics: Sequence[Nic], library: str, pair: PairReport) -> Iterator[Finding]:
    better = max(pair.winners, key=lambda winner: winner.gain, default=None)
    if _is_remote(pair.pair_class) and better and better.gain >= _SLOWER and better.configuration:
        default_us, devices = better.latency_us * better.gain, ", ".join(pair.devices) or pair.transport
        yield Finding(
            "slower-transport",
            f"the library's default between nodes is up to {better.gain:.3g} times slower than another route",
            f"{better.size_bytes} bytes take {default_us:.1f} µs over {devices}, "
            f"and {better.latency_us:.1f} µs with {better.configuration}",
            f"set {better.configuration}; prove its effect on the program with `mpiric tune`",
        )
    if not _is_remote(pair.pair_class):
        return
    if len(pair.devices) > 1 and pair.seen:
        yield Finding(
            "several-networks",
            "messages between nodes are spread over several networks, and the slowest one limits them",
            pair.seen,
            "restrict the library to one network with the knob network-interface",
        )
    if problem := misdriven(pair.transport, nics, library):
        yield problem
    for sentence in pair.why:
        if sentence.startswith("the library says"):
            yield Finding(
                "words-and-bytes-differ",
                sentence,
                pair.seen,
                "trust the byte counts; choose the network explicitly with the knob network-interface",
            )
