"""Shell patterns over the directories of a Host."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from mpiric.host.host import Host


def matching(host: Host, pattern: str) -> Iterator[str]:
    """Absolute paths that match an absolute shell pattern, ascending; ``*`` never crosses a ``/``."""
    head, *parts = pattern.split("/")
    yield from _below(host, head, parts)


def _below(host: Host, directory: str, parts: list[str]) -> Iterator[str]:
    if not parts:
        yield directory
        return
    part, *rest = parts
    path = f"{directory}/{part}"
    if any(mark in part for mark in "*?["):
        for name in host.list_dir(directory or "/"):
            if fnmatchcase(name, part) and not name.startswith("."):
                yield from _below(host, f"{directory}/{name}", rest)
    elif rest or host.is_file(path) or host.list_dir(path):
        yield from _below(host, path, rest)
