"""What the native probe printed → Probe; lines of other programs between its own are passed over."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mpiric.model.fabric import Moved, PairClass, PlainNetwork, Point, Probe

_MARK = '{"kind":'


def read_probe(text: str) -> Probe:
    """Parse the output of one run; parts are empty where it ended early."""
    rows = list(_rows(text))
    points: dict[PairClass, list[Point]] = {}
    for row in (row for row in rows if row["kind"] == "pair"):
        points.setdefault(PairClass(row["class"]), []).append(_point(row))
    return Probe(
        hosts=tuple(row["host"] for row in rows if row["kind"] == "rank"),
        points={pair_class: tuple(found) for pair_class, found in points.items()},
        moved={PairClass(row["class"]): _moved(row) for row in rows if row["kind"] == "moved"},
        networks=tuple(
            PlainNetwork(row["name"], row["address"], row["latency_us"], row["bandwidth_mb_s"])
            for row in rows
            if row["kind"] == "network"
        ),
        copy_mb_s=next((row["mb_s"] for row in rows if row["kind"] == "copy"), 0.0),
    )


def damaged(text: str) -> bool:
    """Whether a message came back other than it left."""
    return any(row["kind"] == "pair" and not row["intact"] for row in _rows(text))


def _rows(text: str) -> Iterator[Mapping[str, Any]]:
    for line in text.splitlines():
        at = line.find(_MARK)
        if at >= 0:
            try:
                yield json.loads(line[at:])
            except ValueError:
                continue  # cut off when the run was ended


def _point(row: Mapping[str, Any]) -> Point:
    size, least_us = row["bytes"], row["latency_us_min"]
    return Point(size, row["latency_us"], least_us, size / least_us, row.get("preempted", 0.0))


def _moved(row: Mapping[str, Any]) -> Moved:
    return Moved(row["payload"], row["devices"], row["sockets"], tuple(row["shared"]))
