"""Output of the native probe → Probe, and the devices that carried the bytes between ranks.

Lines of other programs in the output are skipped. The carriers are compared with the devices that the library
reports.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mpiric.model.fabric import Moved, PairClass, PlainNetwork, Point, Probe, TransportPath
from mpiric.model.finding import Finding
from mpiric.model.json_text import is_number, json_lines

_MARK = '{"kind":'


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_class(value: object) -> bool:
    return isinstance(value, str) and value in {pair_class.value for pair_class in PairClass}


def _is_table(value: object) -> bool:
    return isinstance(value, dict) and all(map(is_number, value.values()))


def _is_positive(value: object) -> bool:
    return is_number(value) and float(str(value)) > 0


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_FIELDS: Mapping[str, Mapping[str, Callable[[object], bool]]] = {
    "rank": {"host": _is_text},
    "pair": {
        "class": _is_class,
        "bytes": is_number,
        "latency_us": is_number,
        "latency_us_min": _is_positive,
        "intact": lambda value: value is not None,
    },
    "moved": {
        "class": _is_class,
        "payload": is_number,
        "devices": _is_table,
        "sockets": _is_table,
        "shared": _is_list,
    },
    "network": {"name": _is_text, "address": _is_text, "latency_us": is_number, "bandwidth_mb_s": is_number},
    "copy": {"mb_s": is_number},
}


def read_probe(text: str) -> Probe:
    """Parse the output of one run; parts are empty if it ended early."""
    rows = list(_rows(text))
    points: dict[PairClass, list[Point]] = {}
    for row in (row for row in rows if row["kind"] == "pair"):
        size, min_us = row["bytes"], row["latency_us_min"]
        points.setdefault(PairClass(row["class"]), []).append(
            Point(size, row["latency_us"], min_us, size / min_us, row.get("preempted", 0.0))
        )
    moved = {
        PairClass(row["class"]): Moved(row["payload"], row["devices"], row["sockets"], tuple(row["shared"]))
        for row in rows
        if row["kind"] == "moved"
    }
    return Probe(
        hosts=tuple(row["host"] for row in rows if row["kind"] == "rank"),
        points={pair_class: tuple(values) for pair_class, values in points.items()},
        moved=moved,
        networks=tuple(
            PlainNetwork(row["name"], row["address"], row["latency_us"], row["bandwidth_mb_s"])
            for row in rows
            if row["kind"] == "network"
        ),
        copy_mb_s=next((row["mb_s"] for row in rows if row["kind"] == "copy"), 0.0),
    )


def damaged(text: str) -> bool:
    """Return whether a message arrived with other content than was sent."""
    return any(row["kind"] == "pair" and not row["intact"] for row in _rows(text))


def _rows(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the complete lines of known kinds; lines are cut off if the run was stopped."""
    for row in json_lines(text, _MARK):
        fields = _FIELDS.get(str(row.get("kind")), {})
        if fields and all(is_right(row.get(name)) for name, is_right in fields.items()):
            yield row


_CONTROL_SHARE = 0.05  # share of the bytes below which a device only carries control or foreign traffic
_VARIATION = 1.5  # ratio of latencies from which a change of the network matters
_CARRIER_SHARE = 0.5  # share of the payload that devices must show to count as carriers


def carriers(moved: Moved, networks: tuple[PlainNetwork, ...]) -> Mapping[str, int]:
    """Map each device to the bytes that this process sent over it.

    Counters of sockets belong to the process and are exact. Adapters that bypass the kernel only show in the
    counters of the node, which other programs change too.
    """
    interface_of = {network.address: network.name for network in networks}
    by_socket: dict[str, int] = {}
    for address, sent in moved.sockets.items():
        name = interface_of.get(address, "lo" if address.startswith("127.") else address)
        by_socket[name] = by_socket.get(name, 0) + sent
    if sum(by_socket.values()) > _CARRIER_SHARE * moved.payload_bytes:
        return _large(by_socket)
    devices = {name: n for name, n in moved.devices.items() if n > _CONTROL_SHARE * moved.payload_bytes}
    return _large(devices) if sum(devices.values()) > _CARRIER_SHARE * moved.payload_bytes else {}


def _large(sent: Mapping[str, int]) -> dict[str, int]:
    total = sum(sent.values())
    large = {name: count for name, count in sent.items() if count > _CONTROL_SHARE * total}
    return dict(sorted(large.items(), key=lambda item: -item[1]))


def in_words(pair_class: PairClass, moved: Moved, carried: Mapping[str, int]) -> str:
    """Describe carriers: ``94 % of the bytes over eth0, 6 % over fast0`` or ``nothing on any device …``."""
    if carried:
        total = sum(carried.values())
        return ", ".join(f"{sent / total:.0%} of the bytes over {name}" for name, sent in carried.items())
    if pair_class is PairClass.OTHER_NODE:
        return "neither sockets nor device counters show the bytes"
    shared = f"; shared memory: {', '.join(moved.shared)}" if moved.shared else ""
    return f"nothing on any device{shared}"


def contradiction(path: TransportPath, carried: Mapping[str, int]) -> str:
    """Return a sentence if the bytes went over other devices than the library reports, else ""."""
    reported = {device.split(":")[0] for device in path.devices}
    if not reported or not carried or reported & set(carried):
        return ""
    return f"the library says {', '.join(sorted(reported))}, but the bytes went over {', '.join(carried)}"


def varying(probes: Sequence[Probe]) -> tuple[Finding, ...]:
    """Return a warning if the library chooses different networks between nodes in repeated runs."""
    runs = [
        ", ".join(sorted(carriers(probe.moved[PairClass.OTHER_NODE], probe.networks)))
        for probe in probes
        if PairClass.OTHER_NODE in probe.moved
    ]
    counts = {network: runs.count(network) for network in dict.fromkeys(runs) if network}
    firsts = [
        probe.points[PairClass.OTHER_NODE][0] for probe in probes if PairClass.OTHER_NODE in probe.points
    ]
    times = [point.latency_us_min for point in firsts]
    if len(counts) < 2 or max(times) < _VARIATION * min(times):
        return ()
    choices = ", ".join(f"{network} in {count}" for network, count in counts.items())
    return (
        Finding(
            "choice-varies",
            "the library chooses different networks in repeated runs, so equal runs take different times",
            f"{choices} of {len(runs)} runs; the smallest message takes {min(times):.1f} to "
            f"{max(times):.1f} µs",
            "choose the network explicitly with the knob network-interface",
        ),
    )
