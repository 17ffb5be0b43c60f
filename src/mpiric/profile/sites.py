"""Places in the program that call MPI."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from mpiric.host.host import Host
from mpiric.model.profile import Profile, SiteUse
from mpiric.model.record import Record
from mpiric.profile.advise import advise
from mpiric.profile.pace import Modules, in_module, modules_of


def site_uses(record: Record) -> tuple[SiteUse, ...]:
    """Return call sites as ``file+0xoffset`` (of the return address), the most expensive first."""
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0, 0.0])
    for rank in record.ranks:
        modules = modules_of(rank.facts)
        for site in rank.sites:
            total = sums[_place(site.address, modules), site.function]
            total[0] += site.calls
            total[1] += site.bytes
            total[2] += site.time_s
    uses = [
        SiteUse(place, function, int(calls), int(moved), time_s)
        for (place, function), (calls, moved, time_s) in sums.items()
    ]
    return tuple(sorted(uses, key=lambda use: (-use.time_s, use.place, use.function)))


def waiting_place(record: Record, busiest: int) -> str:
    """Return where the other ranks wait longest for the busiest one: ``MPI_Barrier at file+0xoffset``.

    It is "" without call sites.
    """
    waits: dict[tuple[str, str], float] = defaultdict(float)
    for rank in record.ranks:
        modules = modules_of(rank.facts)
        weight = -(len(record.ranks) - 1) if rank.rank == busiest else 1
        for site in rank.sites:
            waits[site.function, _place(site.address, modules)] += weight * site.time_s
    if not waits or max(waits.values()) <= 0:
        return ""
    function, place = max(waits, key=lambda key: waits[key])
    return f"{function} at {place}"


def name_sites(profile: Profile, host: Host) -> Profile:
    """Name places by function, source file and line, if the program's files still exist and have symbols.

    Runs ``addr2line`` (GNU binutils) once per file. Unresolved places are unchanged.
    """
    names = name_places((use.place for use in profile.sites), host)
    sites = tuple(replace(use, place=names.get(use.place, use.place)) for use in profile.sites)
    function, _, place = profile.waiting_place.partition(" at ")
    if place not in names:
        return replace(profile, sites=sites)
    named = replace(profile, sites=sites, waiting_place=f"{function} at {names[place]}")
    return replace(named, advice=advise(named))


def name_places(places: Iterable[str], host: Host) -> dict[str, str]:
    """Return ``function (file:line)`` for each resolved place ``path+0xoffset``."""
    offsets: dict[str, set[int]] = defaultdict(set)
    for place in places:
        module, separator, offset = place.rpartition("+0x")
        if separator:
            offsets[module].add(int(offset, 16))
    names = {}
    for module, some in offsets.items():
        names.update(_names(module, sorted(some), host))
    return names


def _place(address: int, modules: Modules) -> str:
    path, offset = in_module(address, modules)
    return f"{path}+{offset:#x}" if path else f"{offset:#x}"


def _names(module: str, offsets: list[int], host: Host) -> dict[str, str]:
    """Return place → name for the places in one file."""
    start = _first_address(module, host)
    if start is None:
        return {}
    # A return address follows the call: the byte before it belongs to the call.
    addresses = [f"{start + offset - 1:#x}" for offset in offsets]
    done = host.run(["addr2line", "-f", "-C", "-e", module, *addresses])
    lines = done.stdout.splitlines()
    if done.status != 0 or len(lines) != 2 * len(offsets):
        return {}
    resolved = list(zip(offsets, lines[::2], lines[1::2], strict=True))
    # Without line numbers addr2line names the preceding symbol, even if it ends long before the place.
    unsure = [start + offset - 1 for offset, _, source in resolved if source.startswith("??")]
    inside = _inside_functions(module, unsure, host) if unsure else set()
    names = {}
    for offset, function, source in resolved:
        if function == "??" or (source.startswith("??") and start + offset - 1 not in inside):
            continue
        file, _, line = source.split(" ")[0].rpartition(":")
        short = module.rpartition("/")[2]
        has_line = line.isdigit() and not file.startswith("??")
        where = f"{file.rpartition('/')[2]}:{line}" if has_line else f"{short}+{offset:#x}"
        names[f"{module}+{offset:#x}"] = f"{short_name(function)} ({where})"
    return names


# Operators whose names contain brackets.
_OPERATOR = re.compile(r"operator(?:\(\)|->\*?|<=>|<<=?|>>=?|[<>]=?)")


def short_name(function: str) -> str:
    """Name of a C++ function without return type, template arguments and parameters, which fill lines.

    ``void app::solve<app::Matrix<double> >(app::Matrix<double>&)`` is ``app::solve``.
    """
    name, depth, operator_end = "", 0, 0
    for at, character in enumerate(function):
        if not depth and (operator := _OPERATOR.match(function, at)):
            operator_end = operator.end()
        if at < operator_end:
            name += character
        elif character in "<(":
            if not depth and function.startswith("(anonymous namespace)", at):
                name += "(anonymous)"
            depth += 1
        elif character in ">)" and depth:
            depth -= 1
        elif not depth:
            name += character
    parts = name.split()
    return next((part for part in parts if "operator" in part), parts[-1]) if parts else function


def _inside_functions(module: str, addresses: list[int], host: Host) -> set[int]:
    """Return the addresses inside the functions of the symbol tables."""
    inside: set[int] = set()
    for table in ([], ["-D"]):
        done = host.run(["nm", "-S", "--defined-only", *table, module])
        for line in done.stdout.splitlines():
            fields = line.split()
            if len(fields) == 4 and fields[2] in "tTwWi":
                begin = int(fields[0], 16)
                inside.update(at for at in addresses if begin <= at < begin + int(fields[1], 16))
    return inside


def _first_address(module: str, host: Host) -> int | None:
    """Return the first mapped address according to the file; None if the file is missing."""
    done = host.run(["readelf", "-lW", module], environment={"LC_ALL": "C"})
    for line in done.stdout.splitlines():
        fields = line.split()
        if fields[:1] == ["LOAD"]:
            return int(fields[2], 16) & ~0xFFF
    return None
