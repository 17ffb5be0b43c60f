"""Host lists and counts in the syntax of schedulers."""

from collections.abc import Sequence
from math import prod
from re import findall, fullmatch

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetParseError

from mpiric.model.errors import MpiricError

_MOST_HOSTS = 1_000_000
_MOST_DIGITS = 18
_NAME = r"[\w.\[][\w.,/:\[\]-]*"


def hosts_of(text: str) -> tuple[str, ...]:
    """Expand ``n[1-3,7],login`` to host names in the written order, which is also the order of the counts."""
    parts = findall(r"(?:[^,\[\]]|\[[^\[\]]*\])+", text)
    if sum(map(_count, parts)) > _MOST_HOSTS:
        raise MpiricError(f"this host list names more than {_MOST_HOSTS} hosts: {text!r}", hint="name fewer")
    if ",".join(parts) != text or not all(fullmatch(_NAME, part) for part in parts):
        raise MpiricError(f"this host list cannot be read: {text!r}", hint="it looks like n[1-4,7],login")
    try:
        return tuple(
            name
            for part in parts
            for name in NodeSet(part, resolver=RESOLVER_NOGROUP)  # type: ignore[no-untyped-call]
        )
    except (NodeSetParseError, AssertionError) as error:  # AssertionError for ranges past a billion
        raise MpiricError(f"this host list cannot be read: {text!r}", hint=str(error)) from error


def _count(part: str) -> int:
    """Return an upper bound of the number of hosts that a part names: ``r[1-4]n[1-8]`` gives 32."""
    widths = [
        sum(_width(item) for item in brackets.split(",")) for brackets in findall(r"\[([^\[\]]*)\]", part)
    ]
    return prod(min(width, _MOST_HOSTS + 1) for width in widths)


def _width(item: str) -> int:
    """Return the size of the range ``1-4`` or of the number ``7``, at least 1."""
    ends = fullmatch(r"(\d+)-(\d+)(?:/\d+)?", item.strip())
    if ends is None:
        return 1
    if max(len(ends[1]), len(ends[2])) > _MOST_DIGITS:
        return _MOST_HOSTS + 1
    return max(1, int(ends[2]) - int(ends[1]) + 1)


def folded(hosts: Sequence[str]) -> str:
    """Return the shortest host list that names these hosts."""
    return str(NodeSet.fromlist(list(hosts), resolver=RESOLVER_NOGROUP))  # type: ignore[no-untyped-call]


def counts_of(text: str) -> tuple[int, ...]:
    """Expand counts: ``2(x3),1`` → 2, 2, 2, 1."""
    counts: list[int] = []
    for part in text.split(","):
        match = fullmatch(r"(\d+)(?:\(x(\d+)\))?", part.strip())
        if match is None:
            raise MpiricError(f"these counts cannot be read: {text!r}", hint="they look like 2(x3),1")
        counts += [int(match[1])] * int(match[2] or 1)
    return tuple(counts)
