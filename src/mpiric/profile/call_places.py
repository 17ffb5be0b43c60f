"""Addresses that MPI is called from, as offsets in the files that were mapped there."""

from bisect import bisect_right
from collections.abc import Mapping

_MODULE = "module."

Modules = list[tuple[int, str]]  # start and path, by start


def modules_of(facts: Mapping[str, str]) -> Modules:
    """Each file that a rank called MPI from, by the facts of its record."""
    found = []
    for key, path in facts.items():
        if key.startswith(_MODULE):
            try:
                found.append((int(key.removeprefix(_MODULE), 16), path))
            except ValueError:
                continue
    return sorted(found)


def in_module(address: int, modules: Modules) -> tuple[str, int]:
    """Path and offset of an address; "" and the address itself when no file is known to lie there."""
    at = bisect_right(modules, address, key=lambda module: module[0]) - 1
    return (modules[at][1], address - modules[at][0]) if at >= 0 else ("", address)
