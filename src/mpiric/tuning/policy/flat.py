"""Flat policy: the text file that the runtime reads."""

import re

from mpiric.model.checked_table import show
from mpiric.model.errors import MpiricError
from mpiric.model.policy import ANY, COLLECTIVES, FLAT_FORMAT, ORDERS, Line, Named, Policy, Span

_MOST_LINES = 65_536
_LONGEST_LINE = 512
_HINT = "it was edited or damaged; correct it by spec/formats/policy.md, or write it again"
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
