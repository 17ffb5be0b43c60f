"""Files of policies, checked: learned ones in JSON, and the flat text that the runtime reads."""

import json
import re
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

from mpiric.host.facts.time_slices import Timed, disturbances
from mpiric.host.files import read_bounded
from mpiric.host.owned_files import write_text
from mpiric.model.errors import MpiricError
from mpiric.model.json_text import CheckedTable, parse_json, show
from mpiric.model.policy import (
    ANY,
    COLLECTIVES,
    FLAT_FORMAT,
    LEARNED_FORMAT,
    LIBRARY,
    ORDERS,
    LearnedKey,
    LearnedPolicy,
    Line,
    Measured,
    Named,
    Policy,
    Shape,
    Span,
)
from mpiric.statistics.sampling import SweepPoint, Times

_MOST_BYTES = 64 << 20
_MOST_KEYS = 100_000
_MOST_CANDIDATES = 1000
_LARGEST = 10**18 - 1
_MAKER = "`mpiric run --policy-out FILE` and `mpiric sweep` write policies"
_HINT = "it was edited or damaged; restore it, or write it again with the command that made it"


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


_MOST_LINES = 65_536
_LONGEST_LINE = 512

_NUMBER = re.compile(r"[0-9]{1,18}")
_PLACEMENT = re.compile(r"[0-9a-f]{16}")
_MPI = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}")


def parse_flat(data: bytes, where: str) -> Policy:
    """Parse and check the content of a flat policy; ``where`` is the name of the file in errors."""
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError as error:
        raise MpiricError(f"{where} is not a policy: it is not ASCII", hint=_HINT) from error
    rows = text.split("\n")
    if len(rows) > _MOST_LINES:
        raise MpiricError(f"{where} has more than {_MOST_LINES} lines", hint=_HINT)
    head = re.fullmatch(r"mpiric-policy ([0-9]{1,9})", rows[0].rstrip())
    if head is None:
        raise MpiricError(f"{where} is not a policy: its first line is not `mpiric-policy 1`", hint=_HINT)
    if int(head[1]) != FLAT_FORMAT:
        raise MpiricError(
            f"{where} has policy format {int(head[1])}, this mpiric reads {FLAT_FORMAT}", hint="update mpiric"
        )
    match rows[1].split() if len(rows) > 1 else []:
        case ["mpi", mpi, version] if _MPI.fullmatch(mpi) and _VERSION.fullmatch(version):
            pass
        case _:
            raise MpiricError(f"{where}, line 2, must be `mpi IMPLEMENTATION VERSION`", hint=_HINT)
    lines = []
    for number, row in enumerate(rows[2:], start=3):
        if not row.strip() or row.startswith("#"):
            continue
        try:
            lines.append(_line(row))
        except ValueError as error:
            raise MpiricError(f"{where}, line {number}: {show(str(error))}", hint=_HINT) from error
    return Policy(mpi, version, tuple(lines))


def _line(row: str) -> Line:
    if len(row) > _LONGEST_LINE:
        raise ValueError(f"longer than {_LONGEST_LINE} bytes")
    if any((ord(char) < 32 and char not in "\t\r") or ord(char) == 127 for char in row):
        raise ValueError("holds control characters")
    fields = row.split(maxsplit=9)
    if len(fields) < 9 or fields[0] != "choose":
        raise ValueError("must be `choose COLLECTIVE RANKS NODES PER-NODE ORDER PLACE FROM TO CANDIDATE`")
    _, collective, ranks, nodes, per_node, order, placement, start, end = fields[:9]
    if len(fields) < 10:
        raise ValueError("names no candidate")
    if collective not in COLLECTIVES:
        raise ValueError(f"{collective[:40]!r} is not a collective")
    if order not in (ANY, *ORDERS):
        raise ValueError(f"{order[:40]!r} is not an order: {', '.join(ORDERS)} or *")
    if placement != ANY and not _PLACEMENT.fullmatch(placement):
        raise ValueError(f"{placement[:40]!r} is not a placement: 16 hexadecimal digits or *")
    first, last = _number(start), None if end == ANY else _number(end)
    if last is not None and last <= first:
        raise ValueError(f"the sizes from {first} to below {last} are empty")
    return Line(
        collective,
        str(Named.parse(" ".join(fields[9].split()))),
        _span(ranks),
        _span(nodes),
        _span(per_node),
        order,
        placement,
        first,
        last,
    )


def _number(word: str) -> int:
    if not _NUMBER.fullmatch(word):
        raise ValueError(f"{word[:40]!r} is not a number")
    return int(word)


def _span(word: str) -> Span:
    if word == ANY:
        return Span()
    low, dash, high = word.partition("-")
    first = _number(low)
    last = first if not dash else None if high == ANY else _number(high)
    if last is not None and last < first:
        raise ValueError(f"the range {word[:40]!r} is empty")
    return Span(first, last)


def render_flat(policy: Policy) -> str:
    """Render a policy as the text of its file. Raises ValueError for more lines than a reader accepts."""
    if len(policy.lines) + 4 > _MOST_LINES:
        raise ValueError(f"a policy of more than {_MOST_LINES} lines")
    head = f"mpiric-policy {FLAT_FORMAT}\nmpi {policy.implementation} {policy.version}\n"
    columns = "# collective ranks nodes per-node order placement from to candidate\n"
    return head + columns + "".join(f"{render_line(line)}\n" for line in policy.lines)


def render_line(line: Line) -> str:
    """Render one ``choose`` line."""
    spans = " ".join(_span_text(span) for span in (line.ranks, line.nodes, line.ranks_per_node))
    end = ANY if line.end is None else line.end
    return (
        f"choose {line.collective} {spans} {line.order} {line.placement} {line.start} {end} {line.candidate}"
    )


def _span_text(span: Span) -> str:
    if span == Span():
        return ANY
    if span.high is None:
        return f"{span.low}-{ANY}"
    return str(span.low) if span.low == span.high else f"{span.low}-{span.high}"


_MOST_PREEMPTED = 0.5  # share of preempted batches from which the median batch is a preempted one


def disturbed_points(measured: Times, tick_s: float) -> dict[SweepPoint, str]:
    """Return the points of a sweep that cannot be ranked, with the reason."""
    series: dict[Hashable, dict[int, Timed]] = defaultdict(dict)
    for point, times in measured.items():
        series[point.subject, point.candidate][point.size] = _timed(times)
    reasons = {name: disturbances(sizes, tick_s) for name, sizes in series.items()}
    return {
        point: why for point in measured if (why := reasons[point.subject, point.candidate].get(point.size))
    }


def without_disturbed(measured: Times, tick_s: float) -> dict[SweepPoint, Measured]:
    """Return the times of a sweep that can be ranked."""
    disturbed = disturbed_points(measured, tick_s)
    return {point: times for point, times in measured.items() if point not in disturbed}


def undisturbed(learned: LearnedPolicy, tick_s: float) -> LearnedPolicy:
    """Return the policy without disturbed times; decisions that depend on them become undecided."""
    series: dict[Hashable, dict[int, Timed]] = defaultdict(dict)
    for key in learned.keys:
        for times in key.candidates:
            series[key.collective, key.shape, times.name][key.start] = _timed(times)
    reasons = {name: disturbances(sizes, tick_s) for name, sizes in series.items()}
    keys = []
    for key in learned.keys:
        remaining = tuple(
            times
            for times in key.candidates
            if key.start not in reasons[key.collective, key.shape, times.name]
        )
        compared = {LIBRARY, key.candidate} & {times.name for times in key.candidates}
        if compared <= {times.name for times in remaining}:
            keys.append(replace(key, candidates=remaining))
        else:
            keys.append(replace(key, candidates=remaining, candidate=LIBRARY, decided=False, confidence=0.0))
    return replace(learned, keys=tuple(keys))


def _timed(times: Measured) -> Timed:
    return Timed(times.median_s, times.high_s - times.low_s, times.preempted > _MOST_PREEMPTED)
