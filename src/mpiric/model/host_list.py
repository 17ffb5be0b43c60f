"""Host lists and counts as schedulers write them."""

from collections.abc import Sequence
from re import findall, fullmatch

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetParseError

from mpiric.model.errors import MpiricError

_MOST_HOSTS = 1_000_000
_NAME = r"[\w.\[][\w.,/:\[\]-]*"


def hosts_of(text: str) -> tuple[str, ...]:
    """``n[1-3,7],login`` → names, in the order written: counts that belong to them come in that order too."""
    parts = findall(r"(?:[^,\[\]]|\[[^\[\]]*\])+", text)
    ranges = findall(r"(\d{1,9})-(\d+)", text)
    if sum(int(last) - int(first) for first, last in ranges) > _MOST_HOSTS:
        raise MpiricError(f"this host list names more than {_MOST_HOSTS} hosts: {text!r}", hint="name fewer")
    if ",".join(parts) != text or not all(fullmatch(_NAME, part) for part in parts):
        raise MpiricError(f"this host list cannot be read: {text!r}", hint="it looks like n[1-4,7],login")
    try:
        return tuple(
            name
            for part in parts
            for name in NodeSet(part, resolver=RESOLVER_NOGROUP)  # type: ignore[no-untyped-call]
        )
    except NodeSetParseError as error:
        raise MpiricError(f"this host list cannot be read: {text!r}", hint=str(error)) from error


def folded(hosts: Sequence[str]) -> str:
    """The shortest host list that names these hosts."""
    return str(NodeSet.fromlist(list(hosts), resolver=RESOLVER_NOGROUP))  # type: ignore[no-untyped-call]


def counts_of(text: str) -> tuple[int, ...]:
    """``2(x3),1`` → 2, 2, 2, 1."""
    counts: list[int] = []
    for part in text.split(","):
        match = fullmatch(r"(\d+)(?:\(x(\d+)\))?", part.strip())
        if match is None:
            raise MpiricError(f"these counts cannot be read: {text!r}", hint="they look like 2(x3),1")
        counts += [int(match[1])] * int(match[2] or 1)
    return tuple(counts)
