"""Reports that libfabric and UCX, the layers below an MPI library, print about their transports."""

import re
from collections.abc import Sequence

from mpiric.model.fabric import PairClass, TransportPath, TransportReport

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
    settings = [setting for setting in _settings(text) if not setting.startswith(_REQUESTED)]
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


def _settings(text: str) -> list[str]:
    match = _SETTINGS.search(text)
    return match[1].split() if match else []
