"""What carried the bytes while ranks talked, and whether it agrees with what the library reports."""

from collections.abc import Mapping, Sequence

from mpiric.model.fabric import Moved, PairClass, Path, PlainNetwork, Probe
from mpiric.model.finding import Finding

_SHARE = 0.05  # of the bytes moved: below it a device carries control traffic, or another program's
_OTHERWISE = 1.5  # times the shortest: from here on another network makes a difference
_MOST = 0.5  # of the payload must show on a device for it to count as the carrier


def carriers(moved: Moved, networks: tuple[PlainNetwork, ...]) -> Mapping[str, int]:
    """Device → bytes that this process sent over it.

    The sockets of the process itself tell exactly; adapters that bypass the kernel show in the node's
    counters only, which other programs move too.
    """
    interface_of = {network.address: network.name for network in networks}
    by_socket: dict[str, int] = {}
    for address, sent in moved.sockets.items():
        name = interface_of.get(address, "lo" if address.startswith("127.") else address)
        by_socket[name] = by_socket.get(name, 0) + sent
    if sum(by_socket.values()) > _MOST * moved.payload_bytes:
        return _large(by_socket)
    devices = {name: sent for name, sent in moved.devices.items() if sent > _SHARE * moved.payload_bytes}
    return _large(devices) if sum(devices.values()) > _MOST * moved.payload_bytes else {}


def _large(sent: Mapping[str, int]) -> dict[str, int]:
    total = sum(sent.values())
    large = {name: count for name, count in sent.items() if count > _SHARE * total}
    return dict(sorted(large.items(), key=lambda item: -item[1]))


def in_words(pair_class: PairClass, moved: Moved, carried: Mapping[str, int]) -> str:
    """``94 % of the bytes over eth0, 6 % over fast0`` or ``nothing on any device, /dev/shm mapped``."""
    if carried:
        total = sum(carried.values())
        return ", ".join(f"{sent / total:.0%} of the bytes over {name}" for name, sent in carried.items())
    if pair_class is PairClass.OTHER_NODE:
        return "no socket and no counter shows the bytes"
    shared = f"; shared memory: {', '.join(moved.shared)}" if moved.shared else ""
    return f"nothing on any device{shared}"


def contradiction(path: Path, carried: Mapping[str, int]) -> str:
    """A sentence when the library names devices and the bytes went over others; "" when it all agrees."""
    named = {device.split(":")[0] for device in path.devices}
    if not named or not carried or named & set(carried):
        return ""
    return f"the library says {', '.join(sorted(named))} and the bytes went over {', '.join(carried)}"


def varying(probes: Sequence[Probe]) -> tuple[Finding, ...]:
    """A warning when the library's own choice between nodes is another one from run to run."""
    runs = [
        ", ".join(sorted(carriers(probe.moved[PairClass.OTHER_NODE], probe.networks)))
        for probe in probes
        if PairClass.OTHER_NODE in probe.moved
    ]
    seen = {network: runs.count(network) for network in dict.fromkeys(runs) if network}
    firsts = [
        probe.points[PairClass.OTHER_NODE][0] for probe in probes if PairClass.OTHER_NODE in probe.points
    ]
    times = [point.latency_us_min for point in firsts]
    if len(seen) < 2 or max(times) < _OTHERWISE * min(times):
        return ()
    chosen = ", ".join(f"{network} in {count}" for network, count in seen.items())
    return (
        Finding(
            "choice-varies",
            "the library chooses another network from run to run: equal runs take different times",
            f"{chosen} of {len(runs)} runs; the smallest message takes {min(times):.1f} to "
            f"{max(times):.1f} µs",
            "name the network: the knob network-interface",
        ),
    )
