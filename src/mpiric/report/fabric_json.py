"""Fabric → the JSON that scripts read."""

from collections.abc import Mapping
from typing import Any

from mpiric.host.secrets import masked
from mpiric.model.fabric import Alternative, Fabric, PairReport


def fabric_json(fabric: Fabric) -> Mapping[str, Any]:
    """One object; times in microseconds, bandwidths in 10⁶ bytes a second, one way."""
    return {
        "library": fabric.library,
        "hosts": fabric.hosts,
        "pairs": [_pair(pair) for pair in fabric.pairs],
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


def _pair(pair: PairReport) -> Mapping[str, Any]:
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
        "alternatives": [_alternative(each) for each in pair.alternatives],
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


def _alternative(each: Alternative) -> Mapping[str, Any]:
    common = {"knobs": each.configuration.as_dict()}
    if each.refused:
        return {**common, "refused": each.refused}
    return {
        **common,
        "transport": each.transport,
        "device": ",".join(each.devices),
        "latency_us": each.latency_us,
        "bandwidth_MBps": each.bandwidth_mb_s,
    }
