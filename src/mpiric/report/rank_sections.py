"""Sections of the report on a record that show each rank: traffic, time, timeline and placement."""

import base64
from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from mpiric.model.amount import seconds
from mpiric.model.dataclass import dataclass
from mpiric.model.machine import Core, parse_pu_list
from mpiric.model.profile import Message, NodeTopology, Profile, RankUse, TimelineRow

_MOST_ENTRIES = 500_000  # limit of entries in a matrix; more are reduced by joining ranks
_HEAVIEST = 12
_MOST_RANK_BARS = 512  # above that, a bar is the mean of neighbouring ranks
_OUTLIERS = 8
_TABLE_ROWS = 8  # number of rows of the table for print
_ACTIVITIES: tuple[tuple[str, Callable[[TimelineRow], tuple[float, ...]]], ...] = (
    ("files", lambda row: row.files),
    ("point to point", lambda row: row.point_to_point),
    ("collectives", lambda row: row.collective),
    ("other MPI", lambda row: row.other_mpi),
)
_MOST_NODES, _MOST_RANKS = 64, 256


def traffic_view(profile: Profile) -> dict[str, Any]:
    """Return the matrices for the page's script, and the heaviest pairs for print."""
    matrices = {"p2p": (profile.p2p, profile.world_size), "nodes": (profile.node_traffic, len(profile.nodes))}
    if profile.one_sided:
        matrices["one_sided"] = (profile.one_sided, profile.world_size)
    return {
        "heaviest": sorted(profile.p2p, key=lambda message: -message.bytes)[:_HEAVIEST],
        "has_one_sided": bool(profile.one_sided),
        "chart": {name: packed(messages, size) for name, (messages, size) in matrices.items()}
        | {"node_names": list(profile.nodes)},
    }


def packed(messages: Sequence[Message], size: int) -> dict[str, Any]:
    """Return columns as base64 of little-endian arrays by source; ``per_entry`` ranks share a row."""
    per_entry = 1
    while len(messages) > _MOST_ENTRIES:
        per_entry *= 2
        messages = _halved(messages)
    return {
        "size": size,
        "per_entry": per_entry,
        "count": len(messages),
        "source": _column("I", [message.source for message in messages]),
        "destination": _column("I", [message.destination for message in messages]),
        "messages": _column("d", [message.messages for message in messages]),
        "bytes": _column("d", [message.bytes for message in messages]),
    }


def _halved(messages: Sequence[Message]) -> list[Message]:
    sums: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for message in messages:
        total = sums[message.source // 2, message.destination // 2]
        total[0] += message.messages
        total[1] += message.bytes
    return [Message(source, to, *sums[source, to]) for source, to in sorted(sums)]


def _column(code: str, values: Sequence[float]) -> str:
    column = array(code, values)
    return base64.b64encode(column.tobytes()).decode()


def ranks_view(profile: Profile) -> dict[str, Any]:
    """Return bars for the chart, and the busiest and the idlest ranks for the table."""
    step = -(-len(profile.ranks) // _MOST_RANK_BARS) or 1
    groups = [profile.ranks[at : at + step] for at in range(0, len(profile.ranks), step)]
    ordered = sorted(profile.ranks, key=lambda use: -use.useful_s)
    some = ordered if len(ordered) <= 2 * _OUTLIERS else [*ordered[:_OUTLIERS], *ordered[-_OUTLIERS:]]
    return {
        "ranks": some,
        "shortened": len(some) < len(profile.ranks),
        "step": step,
        "chart": {
            "labels": [
                f"{group[0].rank}" if step == 1 else f"{group[0].rank}–{group[-1].rank}" for group in groups
            ],
            "series": {
                "useful": [
                    _rank_mean(group, lambda use: max(0.0, use.useful_s - use.io_s)) for group in groups
                ],
                "files": [_rank_mean(group, lambda use: min(use.io_s, use.useful_s)) for group in groups],
                "point to point": [_rank_mean(group, lambda use: use.point_to_point_s) for group in groups],
                "collectives": [_rank_mean(group, lambda use: use.collective_s) for group in groups],
                "other MPI": [_rank_mean(group, _other_mpi) for group in groups],
            },
        },
    }


def _other_mpi(use: RankUse) -> float:
    return max(0.0, use.mpi_s - use.collective_s - use.point_to_point_s)


def _rank_mean(group: tuple[RankUse, ...], value_of: Any) -> float:
    return float(sum(value_of(use) for use in group) / len(group))


def timeline_view(profile: Profile) -> dict[str, Any]:
    """Return shares of each time span by rank for the picture, their means for the chart and the table."""
    rows, span_s = profile.timeline.rows, profile.timeline.span_s
    if not rows:
        return {"parts": [], "columns": [], "phases": []}
    columns = max(len(row.region) for row in rows)
    mean = {name: _mean_by_column([value_of(row) for row in rows], columns) for name, value_of in _ACTIVITIES}
    mean = {"useful": [max(0.0, 1.0 - sum(values)) for values in zip(*mean.values(), strict=True)]} | mean
    used = sorted({region for row in rows for region in row.region})
    return {
        "columns": list(mean),
        "parts": list(_parts(mean, columns, span_s)),
        "phases": [profile.regions[at].name for at in used],
        "chart": {
            "span_s": span_s,
            "columns": columns,
            "mean": {name: _rounded(values) for name, values in mean.items()},
            "rows": [
                f"{row.first_rank}"
                if row.first_rank == row.last_rank
                else f"{row.first_rank}–{row.last_rank}"
                for row in rows
            ],
            "shares": [[_rounded(value_of(row)) for _, value_of in _ACTIVITIES] for row in rows],
            "phases": [profile.regions[at].name for at in used],
            "phase": [[used.index(region) for region in row.region] for row in rows],
        },
    }


def _mean_by_column(rows: list[tuple[float, ...]], columns: int) -> list[float]:
    """Average the rows column by column; ranks that died have shorter rows."""
    means = []
    for at in range(columns):
        values = [row[at] for row in rows if at < len(row)]
        means.append(sum(values) / len(values))
    return means


def _parts(mean: dict[str, list[float]], columns: int, span_s: float) -> Any:
    """Yield start, end and shares of activities of equal parts of the run."""
    step = -(-columns // _TABLE_ROWS)
    for begin in range(0, columns, step):
        end = min(columns, begin + step)
        shares = [sum(values[begin:end]) / (end - begin) for values in mean.values()]
        yield seconds(begin * span_s), seconds(end * span_s), shares


def _rounded(values: tuple[float, ...] | list[float]) -> list[float]:
    return [round(value, 3) for value in values]


@dataclass(frozen=True)
class DrawnCore:
    """A core in the picture: ranks bound to it, and unbound ranks that started on it."""

    core: Core
    bound: tuple[int, ...]
    started: tuple[int, ...]


def placement_view(profile: Profile) -> dict[str, Any]:
    """Return a picture of each node with known cores; for the other nodes NUMA node → ranks."""
    nodes: dict[str, list[RankUse]] = defaultdict(list)
    for use in profile.ranks:
        nodes[use.host].append(use)
    shape_of = profile.shape.host if profile.shape else ""
    shown = list(nodes.items())[:_MOST_NODES]
    return {
        "nodes": [(host, _packages(uses, profile.shape), _domains(uses)) for host, uses in shown],
        "left_out": len(nodes) - len(shown),
        "crowding": profile.numbers["ranks_per_cpu"],
        "unbound": profile.numbers["unbound_share"],
        "assumed": any(host != shape_of for host, _ in shown),
        "shape_of": shape_of,
    }


def _domains(uses: Sequence[RankUse]) -> list[tuple[int, list[RankUse], int]]:
    domains: dict[int, list[RankUse]] = defaultdict(list)
    for use in uses:
        domains[use.numa_node].append(use)
    return [(numa, ranks[:_MOST_RANKS], len(ranks)) for numa, ranks in sorted(domains.items())]


def _packages(uses: Sequence[RankUse], shape: NodeTopology | None) -> list[tuple[int, list[Any]]]:
    """Return package → NUMA node → cores; nothing for a node that cannot have this topology."""
    if shape is None:
        return []
    all_pus = {pu for core in shape.cores for pu in core.pus}
    masks = {use.rank: set(parse_pu_list(use.affinity)) or {use.cpu} for use in uses}
    if not all_pus.issuperset(set().union({use.cpu for use in uses}, *masks.values())):
        return []
    seats: dict[int, dict[int, list[DrawnCore]]] = defaultdict(lambda: defaultdict(list))
    for core in shape.cores:
        pus = set(core.pus)
        bound = tuple(rank for rank, mask in masks.items() if mask & pus and mask != all_pus)
        started = tuple(use.rank for use in uses if use.cpu in pus and masks[use.rank] == all_pus)
        seats[core.package][core.numa_node].append(DrawnCore(core, bound, started))
    return [(package, sorted(domains.items())) for package, domains in sorted(seats.items())]
