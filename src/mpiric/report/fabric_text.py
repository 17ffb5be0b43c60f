"""Report of `mpiric fabric` as text and as JSON."""

from collections.abc import Iterator, Mapping
from typing import Any

from mpiric.host.command_log import masked
from mpiric.model.fabric import Alternative, Fabric, PairReport


def fabric_text(fabric: Fabric) -> str:
    """List each class of pairs with all its routes, then the warnings, then the recommended settings."""
    lines = [f"{fabric.library} on {', '.join(fabric.hosts)}"]
    names = fabric.host_names
    if names.network:
        also = "".join(
            f"; {next(iter(to.values()))} is on {name}" for name, to in names.names_by_interface.items()
        )
        lines.append(f"hosts are named on {names.network}{also}")
    for pair in fabric.pairs:
        lines += ["", *_pair(pair)]
    for warning in fabric.warnings:
        lines += ["", f"warning: {warning.says}", f"  {warning.evidence}", f"  fix: {warning.fix}"]
    lines += ["", *_recommended(fabric)]
    return "\n".join(lines)


def _pair(pair: PairReport) -> Iterator[str]:
    devices = f" over {', '.join(pair.devices)}" if pair.devices else ""
    layer = pair.layer or "layer not reported by the library"
    yield f"{pair.pair_class.value}: {pair.transport}{devices} ({layer})"
    yield f"  seen: {pair.seen}"
    for sentence in pair.why:
        yield f"  why: {sentence}"
    if pair.possible:
        yield f"  possible: {pair.possible}"
    yield f"  {'as it is':50} {pair.latency_us:10.2f} µs {pair.bandwidth_mb_s:10.1f} MB/s"
    for route in pair.alternatives:
        if route.refused:
            yield f"  {route.configuration!s:50} {route.refused[:100]}"
        else:
            yield (
                f"  {route.configuration!s:50} {route.latency_us:10.2f} µs {route.bandwidth_mb_s:10.1f} MB/s"
            )
    better = [winner for winner in pair.winners if winner.configuration]
    for winner in better:
        yield f"  fastest for {winner.size_bytes} bytes: {winner.configuration}, {winner.gain:.2f}×"


def _recommended(fabric: Fabric) -> Iterator[str]:
    if not fabric.recommended:
        yield "No alternative was faster in every round: keep the current settings."
        return
    slowest, fastest = fabric.spread
    rounds = f"{slowest:.2f} to {fastest:.2f} in its rounds"
    yield f"Recommended: {fabric.recommended}, {fabric.gain:.2f}× ({rounds})"
    yield f"  {fabric.launch.shell_line()}"


def fabric_json(fabric: Fabric) -> Mapping[str, Any]:
    """Return one object; times in microseconds, bandwidths in 10⁶ bytes per second and direction."""
    return {
        "library": fabric.library,
        "hosts": fabric.hosts,
        "pairs": [_pair_json(pair) for pair in fabric.pairs],
        "recommended": {
            "knobs": fabric.recommended.as_dict(),
            "env": dict(sorted(fabric.launch.environment.items())),
            "unset": fabric.launch.unset,
            "argv": masked(fabric.launch.argv),
            "gain": fabric.gain,
            "gain_of_rounds": {"least": fabric.spread[0], "most": fabric.spread[1]},
        },
        "warnings": fabric.warnings,
        "networks": [
            {
                "name": network.name,
                "tcp_latency_us": network.latency_us,
                "tcp_bandwidth_MBps": network.bandwidth_mb_s,
            }
            for network in fabric.networks
        ],
        "host_names": fabric.host_names,
        "memory_copy_MBps": fabric.copy_mb_s,
        "baseline_us": {pair_class.value: values for pair_class, values in fabric.baseline_us.items()},
    }


def _pair_json(pair: PairReport) -> Mapping[str, Any]:
    return {
        "class": pair.pair_class,
        "transport": pair.transport,
        "device": ",".join(pair.devices),
        "layer": pair.layer,
        "why": pair.why,
        "seen": pair.seen,
        "latency_us": pair.latency_us,
        "bandwidth_MBps": pair.bandwidth_mb_s,
        "possible": pair.possible,
        "alternatives": [_alternative(alternative) for alternative in pair.alternatives],
        "winners": [
            {
                "bytes": winner.size_bytes,
                "knobs": winner.configuration.as_dict(),
                "latency_us": winner.latency_us,
                "gain": winner.gain,
            }
            for winner in pair.winners
        ],
    }


def _alternative(alternative: Alternative) -> Mapping[str, Any]:
    common = {"knobs": alternative.configuration.as_dict()}
    if alternative.refused:
        return {**common, "refused": alternative.refused}
    return {
        **common,
        "transport": alternative.transport,
        "device": ",".join(alternative.devices),
        "latency_us": alternative.latency_us,
        "bandwidth_MBps": alternative.bandwidth_mb_s,
    }
