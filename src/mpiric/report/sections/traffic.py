"""Traffic between ranks as matrices; the page groups a sparse list into cells as the reader zooms."""

import base64
from array import array
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from mpiric.model.profile import Message, Profile

TITLE = "Traffic between ranks"
_MOST_ENTRIES = 500_000  # limit of entries in a matrix; more are reduced by joining ranks
_HEAVIEST = 12


def view(profile: Profile) -> dict[str, Any]:
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
