"""Learned policy: the JSON file that the runtime and `mpiric sweep` write. The reader checks every field."""

import json
import re
from math import isfinite
from pathlib import Path
from typing import Any

from mpiric.host.files import read_bounded
from mpiric.host.owned_files import write_text
from mpiric.model.checked_table import CheckedTable
from mpiric.model.errors import MpiricError
from mpiric.model.json_text import parse_json
from mpiric.model.policy import (
    ANY,
    COLLECTIVES,
    LEARNED_FORMAT,
    ORDERS,
    LearnedKey,
    LearnedPolicy,
    Measured,
    Named,
    Shape,
)

_MOST_BYTES = 64 << 20
_MOST_KEYS = 100_000
_MOST_CANDIDATES = 1000
_LARGEST = 10**18 - 1
_MAKER = "`mpiric run --policy-out FILE` and `mpiric sweep` write policies"
_HINT = "it was edited or damaged; correct it by spec/formats/policy.md, or write it again"


def read_learned(path: Path) -> LearnedPolicy:
    """Read and check a learned policy. Raises MpiricError that names the file and the field."""
    return parse_learned(read_bounded(path, "learned policy", _MOST_BYTES, _MAKER), str(path))


def parse_learned(data: bytes, where: str) -> LearnedPolicy:
    """Parse and check the content of a learned policy; ``where`` is the name of the file in errors."""
    try:
        document = parse_json(data, constants=False)
    except ValueError as error:
        reason = " ".join(str(error).split())[:200]
        raise MpiricError(f"{where} is not a learned policy: {reason}", hint=_HINT) from error
    top = CheckedTable(document, where, "", _HINT)
    version = top.integer("mpiric_policy", 1, 1_000_000)
    if version > LEARNED_FORMAT:
        raise MpiricError(
            f"{where} has policy format {version}, this mpiric reads up to {LEARNED_FORMAT}",
            hint="update mpiric",
        )
    mpi, world = top.table("mpi"), top.table("world")
    keys = tuple(_key(entry) for entry in top.tables("keys", _MOST_KEYS))
    return LearnedPolicy(
        implementation=_matching(mpi, "implementation", r"[a-z][a-z0-9_-]{0,31}"),
        version=_matching(mpi, "version", r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}"),
        world=_shape(world),
        keys=keys,
        written=top.text("written", default=""),
        machine=top.table("machine").text_map() if top.has("machine") else {},
        collective_s=_seconds(top, "collective_s"),
        learning_s=_seconds(top, "learning_s")
        if top.has("learning_s")
        else sum(key.learning_s for key in keys),
    )


def _matching(table: CheckedTable, key: str, pattern: str) -> str:
    text = table.text(key)
    if not re.fullmatch(pattern, text):
        raise table.error(key, f"must match {pattern}")
    return text


def _shape(table: CheckedTable) -> Shape:
    order = table.choice("order", ORDERS) if table.has("order") else "block"
    name = "placement" if table.has("placement") else "place"  # its name in version 1
    placement = table.text(name, default=ANY)
    if placement != ANY and not re.fullmatch(r"[0-9a-f]{16}", placement):
        raise table.error(name, "must be 16 hexadecimal digits or *")
    shape = Shape(
        table.integer("ranks", 1, 2**31),
        table.integer("nodes", 1, 2**31),
        table.integer("ranks_per_node", 1, 2**31),
        order,
        placement,
    )
    if not shape.nodes <= shape.ranks <= shape.nodes * shape.ranks_per_node:
        raise table.error("ranks", "does not fit on these nodes")
    return shape


def _key(table: CheckedTable) -> LearnedKey:
    start = table.integer("from", 0, _LARGEST)
    end = None if table.is_null("to") else table.integer("to", start + 1, _LARGEST)
    key = LearnedKey(
        collective=table.choice("collective", tuple(sorted(COLLECTIVES))),
        shape=_shape(table.table("communicator")),
        start=start,
        end=end,
        candidate=_candidate(table, "candidate"),
        decided=table.boolean("settled" if table.has("settled") else "decided"),
        confidence=_between(table, "confidence", 0, 1),
        calls=table.integer("calls", 0, _LARGEST),
        learning_calls=table.integer("learning_calls", 0, _LARGEST),
        learning_s=_between(table, "learning_s", 0, 1e12),
        candidates=tuple(map(_measured, table.tables("candidates", _MOST_CANDIDATES))),
    )
    names = [times.name for times in key.candidates]
    if len(set(names)) != len(names):
        raise table.error("candidates", "names a candidate twice")
    return key


def _measured(table: CheckedTable) -> Measured:
    measured = Measured(
        name=_candidate(table, "name"),
        calls=table.integer("calls", 1, _LARGEST),
        median_s=_between(table, "median_s", 0, 1e9),
        low_s=_between(table, "low_s", 0, 1e9),
        high_s=_between(table, "high_s", 0, 1e9),
        eliminated=table.boolean("eliminated") if table.has("eliminated") else False,
    )
    if not measured.low_s <= measured.median_s <= measured.high_s:
        raise table.error("median_s", "must be between low_s and high_s")
    return measured


def _candidate(table: CheckedTable, key: str) -> str:
    try:
        return str(Named.parse(table.text(key)))
    except ValueError as error:
        raise table.error(key, f"must be a candidate: {error}") from None


def _between(table: CheckedTable, key: str, low: float, high: float) -> float:
    number = table.number(key)
    if not (isfinite(number) and low <= number <= high):
        raise table.error(key, f"must be a number from {low} to {high}")
    return number


def _seconds(table: CheckedTable, key: str) -> float:
    return _between(table, key, 0, 1e12) if table.has(key) else 0.0


def write_learned(path: Path, learned: LearnedPolicy) -> None:
    """Write a learned policy atomically. Raises NoRoomError."""
    write_text(path, render_learned(learned))


def render_learned(learned: LearnedPolicy) -> str:
    """Render a learned policy as the text of its file."""
    document: dict[str, Any] = {
        "mpiric_policy": LEARNED_FORMAT,
        "mpi": {"implementation": learned.implementation, "version": learned.version},
        "written": learned.written,
        "machine": dict(learned.machine),
        "world": vars(learned.world),
        "collective_s": learned.collective_s,
        "learning_s": learned.learning_s,
        "keys": [_key_json(key) for key in learned.keys],
    }
    return json.dumps(document, indent=1) + "\n"


def _key_json(key: LearnedKey) -> dict[str, Any]:
    return {
        "collective": key.collective,
        "communicator": vars(key.shape),
        "from": key.start,
        "to": key.end,
        "candidate": key.candidate,
        "decided": key.decided,
        "confidence": key.confidence,
        "calls": key.calls,
        "learning_calls": key.learning_calls,
        "learning_s": key.learning_s,
        # Without the share of preempted batches: a policy contains undisturbed times only.
        "candidates": [
            {name: value for name, value in vars(times).items() if name != "preempted"}
            for times in key.candidates
        ],
    }
