"""Output of the native probe → Probe; lines of other programs in between are skipped."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mpiric.model.fabric import Moved, PairClass, PlainNetwork, Point, Probe
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
        points.setdefault(PairClass(row["class"]), []).append(_point(row))
    return Probe(
        hosts=tuple(row["host"] for row in rows if row["kind"] == "rank"),
        points={pair_class: tuple(values) for pair_class, values in points.items()},
        moved={PairClass(row["class"]): _moved(row) for row in rows if row["kind"] == "moved"},
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


def _point(row: Mapping[str, Any]) -> Point:
    size, min_us = row["bytes"], row["latency_us_min"]
    return Point(size, row["latency_us"], min_us, size / min_us, row.get("preempted", 0.0))


def _moved(row: Mapping[str, Any]) -> Moved:
    return Moved(row["payload"], row["devices"], row["sockets"], tuple(row["shared"]))
