"""UCX: ``UCX_LOG_LEVEL=info`` prints one line for each kind of connection that a worker makes.

``intra-node cfg#2 tag(sysv/memory cma/memory)``; each lane is TRANSPORT/DEVICE, the first for small messages.
Older versions leave out the space before ``tag``, and the words for the kind of connection. Newer ones print,
for ``UCX_PROTO_INFO``, a table for each operation: ranges of sizes, the protocol, and the lanes below it.
"""

import re
from collections.abc import Sequence

from mpiric.model.fabric import PairClass, Path, TransportReport

ASK = {"UCX_LOG_LEVEL": "info", "UCX_PROTO_INFO": "y"}

_LANES = re.compile(r"UCX +INFO +\S+ (self|intra-node|inter-node) cfg#\d+ ?(?:tag|am)\(([^)]*)\)")
_VERSION = re.compile(r"UCX +INFO +Version (\S+)")
_SETTINGS = re.compile(r"UCX_\* env variables?: (.*)")
_TABLE_LINE = re.compile(r"\[([^\]\s]+:\d+)\s*:\d+\] +\|(.*)\|\s*$", re.M)
_TAGGED = re.compile(
    r" (self|intra-node|inter-node) cfg#\d+ *\| *tagged message by ucp_tag_send\*"
    r"(\(fast-completion\))? from host"
)
_LANE = re.compile(r"\b(\w+)/([\w.:]+)")
_ASKED = tuple(f"{name}=" for name in ASK)
_CLASSES = {
    "self": (PairClass.SELF,),
    "intra-node": (PairClass.SAME_NUMA, PairClass.SAME_NODE),
    "inter-node": (PairClass.OTHER_NODE,),
}


def recognise(text: str) -> TransportReport:
    """The lanes of the first connection of each kind, and between nodes the protocols by size."""
    paths: dict[PairClass, Path] = {}
    for kind, lanes in _LANES.findall(text):
        pairs = [lane.split("/", 1) for lane in lanes.split() if "/" in lane]
        _add(paths, kind, pairs)
    tables = _tables(text)
    for kind, rows in tables.items():
        _add(paths, kind, [list(lane) for row in rows for lane in _LANE.findall(row[2])])
    version = _VERSION.search(text)
    if not paths:
        return TransportReport()  # loaded, and then not used
    settings = [word for word in _settings(text) if not word.startswith(_ASKED)]
    why: tuple[str, ...] = (f"UCX is told {' '.join(settings)}",) if settings else ()
    if between := tables.get("inter-node"):
        why += (f"UCX's protocols between nodes: {'; '.join(map(' '.join, between))}",)
    if len(paths.get(PairClass.OTHER_NODE, Path()).devices) > 1:
        why += ("UCX spreads large messages over every device it may use, and sends small ones on the first",)
    return TransportReport(f"UCX {version[1]}" if version else "UCX", paths, why)


def _add(paths: dict[PairClass, Path], kind: str, lanes: Sequence[Sequence[str]]) -> None:
    transports = dict.fromkeys(transport for transport, _ in lanes)
    devices = tuple(dict.fromkeys(device for _, device in lanes if device != "memory"))
    for pair_class in _CLASSES[kind] if lanes else ():
        paths.setdefault(pair_class, Path(", ".join(transports), devices))


def _tables(text: str) -> dict[str, list[tuple[str, str, str]]]:
    """Kind of connection → (sizes, protocol, lanes) of a tagged message, by the first process that tells.

    Of the two tables it prints, that of calls which may end at once is what MPI's blocking sends use.
    """
    found: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    open_tables: dict[str, tuple[str, str]] = {}
    for process, line in _TABLE_LINE.findall(text):
        header = _TAGGED.search(line)
        cells = [cell.strip() for cell in line.split("|")]
        if header:
            key = (header[1], header[2] or "")
            open_tables[process] = key if key not in found else ("", "")
            found.setdefault(key, [])
        elif len(cells) == 3 and cells[0][:1].isdigit() and process in open_tables:
            if open_tables[process][0]:
                found[open_tables[process]].append(
                    (f"{cells[0]} bytes", cells[1].removeprefix("(?) "), cells[2])
                )
        else:
            open_tables.pop(process, None)  # the table of another operation
    return {kind: rows for (kind, fast), rows in sorted(found.items()) if rows}


def _settings(text: str) -> list[str]:
    found = _SETTINGS.search(text)
    return found[1].split() if found else []
