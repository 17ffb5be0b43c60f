"""Output of the native probe → Probe, the devices that carried the bytes, and reports of the libraries.

Lines of other programs in the output are skipped. The carriers are compared with the devices that the library
reports.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mpiric.model.amount import share
from mpiric.model.errors import Finding
from mpiric.model.fabric import Moved, PairClass, PlainNetwork, Point, Probe, TransportPath, TransportReport
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
        return ", ".join(f"{share(sent / total)} of the bytes over {name}" for name, sent in carried.items())
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


# Lines of libfabric: the provider in use, and the providers that were rejected.
_OPENED = re.compile(r"fi_fabric_?\(\):\d+<info> (?:Opened fabric: (\S+)|Using (\S+) provider)")
_REFUSED = re.compile(
    r"::core:core:fi_getinfo_?\(\):\d+<\w+> fi_getinfo: provider (\S+) returned -\d+ \(([^)]*)\)"
)
_UNFIT = re.compile(r"<info> (no hfi device is found|no RDMA devices found|no PSM device is found)")
_LAYERED = "ofi_rxm"

_UCX_ASKED = {"UCX_LOG_LEVEL": "info", "UCX_PROTO_INFO": "y"}
_LANES = re.compile(r"UCX +INFO +\S+ (self|intra-node|inter-node) cfg#\d+ ?(?:tag|am)\(([^)]*)\)")
_VERSION = re.compile(r"UCX +INFO +Version (\S+)")
_SETTINGS = re.compile(r"UCX_\* env variables?: (.*)")
_TABLE_LINE = re.compile(r"\[([^\]\s]+:\d+)\s*:\d+\] +\|(.*)\|\s*$", re.M)
_TAGGED = re.compile(
    r" (self|intra-node|inter-node) cfg#\d+ *\| *tagged message by ucp_tag_send\*"
    r"(\(fast-completion\))? from host"
)
_LANE = re.compile(r"\b(\w+)/([\w.:]+)")
_REQUESTED = tuple(f"{name}=" for name in _UCX_ASKED)
_CLASSES = {
    "self": (PairClass.SELF,),
    "intra-node": (PairClass.SAME_NUMA, PairClass.SAME_NODE),
    "inter-node": (PairClass.OTHER_NODE,),
}


def asking() -> dict[str, str]:
    """Return the variables that make the layers print the transports they use."""
    return {"FI_LOG_LEVEL": "info", **_UCX_ASKED}


def read_report(text: str, library_report: TransportReport) -> TransportReport:
    """Append the reports of all layers in an output to the report of the MPI library itself."""
    return _joined(_joined(library_report, _libfabric(text)), _ucx(text))


def _joined(first: TransportReport, second: TransportReport) -> TransportReport:
    layer = ", ".join(part for part in (first.layer, second.layer) if part)
    why = tuple(dict.fromkeys((*first.why, *second.why)))
    joined = dict(first.paths)
    for pair_class, path in second.paths.items():
        previous = joined.get(pair_class, TransportPath())
        joined[pair_class] = TransportPath(
            previous.transport or path.transport, previous.devices or path.devices
        )
    return TransportReport(layer, joined, why, first.provider or second.provider)


def _libfabric(text: str) -> TransportReport:
    """Return the provider of libfabric; a layered one is followed by the core provider that it opened."""
    opened = [match[1] for match in _OPENED.findall(text) if match[1]]
    if not opened:
        return TransportReport()
    core = [name for name in opened if not name.startswith(_LAYERED)]
    provider = ";".join(dict.fromkeys([*core[-1:], *(name for name in opened if name == _LAYERED)]))
    refused = {name: reason for name, reason in _REFUSED.findall(text) if name not in ("ofi_mrail", "lnx")}
    why = [f"libfabric's provider {name} is rejected: {reason.lower()}" for name, reason in refused.items()]
    why += dict.fromkeys(_UNFIT.findall(text))
    return TransportReport("libfabric", {PairClass.OTHER_NODE: TransportPath(provider)}, tuple(why), provider)


def _ucx(text: str) -> TransportReport:
    """Report the lanes of UCX's first connection of each kind, and between nodes the protocols by size.

    UCX prints a line for each kind of connection that a worker makes, for example ``intra-node cfg#2
    tag(sysv/memory cma/memory)``. Each lane is TRANSPORT/DEVICE; the first one serves small messages. Older
    versions print no space before ``tag`` and do not name the kind of connection. Newer ones print a table
    per operation for ``UCX_PROTO_INFO``: message sizes, protocol, and lanes.
    """
    paths: dict[PairClass, TransportPath] = {}
    for kind, lanes in _LANES.findall(text):
        pairs = [lane.split("/", 1) for lane in lanes.split() if "/" in lane]
        _add(paths, kind, pairs)
    tables = _tables(text)
    for kind, rows in tables.items():
        _add(paths, kind, [list(lane) for row in rows for lane in _LANE.findall(row[2])])
    version = _VERSION.search(text)
    if not paths:
        return TransportReport()  # UCX was loaded but not used
    match = _SETTINGS.search(text)
    settings = [
        setting for setting in (match[1].split() if match else []) if not setting.startswith(_REQUESTED)
    ]
    why: tuple[str, ...] = (f"UCX is configured by {' '.join(settings)}",) if settings else ()
    if between := tables.get("inter-node"):
        why += (f"UCX's protocols between nodes: {'; '.join(map(' '.join, between))}",)
    if len(paths.get(PairClass.OTHER_NODE, TransportPath()).devices) > 1:
        why += ("UCX spreads large messages over all devices it may use, and sends small ones on the first",)
    return TransportReport(f"UCX {version[1]}" if version else "UCX", paths, why)


def _add(paths: dict[PairClass, TransportPath], kind: str, lanes: Sequence[Sequence[str]]) -> None:
    transports = dict.fromkeys(transport for transport, _ in lanes)
    devices = tuple(dict.fromkeys(device for _, device in lanes if device != "memory"))
    for pair_class in _CLASSES[kind] if lanes else ():
        paths.setdefault(pair_class, TransportPath(", ".join(transports), devices))


def _tables(text: str) -> dict[str, list[tuple[str, str, str]]]:
    """Map each kind of connection to (sizes, protocol, lanes) of a tagged message, from the first process.

    UCX prints two tables; MPI's blocking sends use the one for calls that may complete immediately.
    """
    tables: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    open_tables: dict[str, tuple[str, str]] = {}
    for process, line in _TABLE_LINE.findall(text):
        header = _TAGGED.search(line)
        cells = [cell.strip() for cell in line.split("|")]
        if header:
            key = (header[1], header[2] or "")
            open_tables[process] = key if key not in tables else ("", "")
            tables.setdefault(key, [])
        elif len(cells) == 3 and cells[0][:1].isdigit() and process in open_tables:
            if open_tables[process][0]:
                tables[open_tables[process]].append(
                    (f"{cells[0]} bytes", cells[1].removeprefix("(?) "), cells[2])
                )
        else:
            open_tables.pop(process, None)  # the table of another operation
    return {kind: rows for (kind, fast), rows in sorted(tables.items()) if rows}
