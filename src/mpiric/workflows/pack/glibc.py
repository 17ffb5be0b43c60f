"""Symbol versions that the files of a pack require, which determine the sites it can run on."""

import re
from collections.abc import Iterable, Iterator

from mpiric.host.facts.elf import read_glibc_symbols, read_needed_versions
from mpiric.host.packaged import packaged_table
from mpiric.model.errors import MismatchError
from mpiric.model.pack import Content, ContentKind, GlibcNeed, Pack

FLOOR = (2, 17)  # available on all systems that mpiric supports


def glibc_needs(contents: Iterable[Content]) -> tuple[GlibcNeed, ...]:
    """Return the required glibc versions above the floor, highest first; the runtime is ignored."""
    needs = (need for content in contents if content.source for need in _needs(content))
    return tuple(sorted(needs, key=lambda need: (need.version, need.required, need.name), reverse=True))


def _needs(content: Content) -> Iterator[GlibcNeed]:
    if content.kind is ContentKind.RUNTIME:
        return  # packed only if it requires no newer version than the program
    stand_in = _compilers(content.name.rpartition("/")[2])
    for version, symbol in read_glibc_symbols(content.source):
        if version > FLOOR:
            yield GlibcNeed(version, content.name, symbol, content.required, stand_in)


def versions_of_compilers(contents: Iterable[Content]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the requirements on each compiler runtime library: the highest symbol version of each kind."""
    highest: dict[str, dict[str, tuple[tuple[int, ...], str]]] = {}
    for content in contents:
        for soname, versions in read_needed_versions(content.source).items() if content.source else ():
            if not _compilers(soname):
                continue
            for version in versions:
                kind, _, number = version.rpartition("_")
                key = tuple(map(int, re.findall(r"\d+", number)))
                kinds = highest.setdefault(soname, {})
                kinds[kind] = max(kinds.get(kind, ((), "")), (key, version))
    return tuple(
        (soname, tuple(version for _, version in kinds.values())) for soname, kinds in sorted(highest.items())
    )


def _compilers(name: str) -> str:
    """Return the soname of a compiler runtime library with this file name, "" for others."""
    sonames = packaged_table("workflows/pack/site")["compilers"]["sonames"]
    return next((soname for soname in sonames if name.startswith(soname)), "")


def check_glibc(pack: Pack, offered: tuple[int, ...]) -> None:
    """Raise MismatchError, with the symbol that causes it, if the program needs a newer glibc."""
    need = next((need for need in pack.needs if need.forbids and need.version > offered), None)
    if need is not None:
        required, has = (".".join(map(str, version)) for version in (need.version, offered))
        raise MismatchError(
            f"{need.name} needs glibc {required} for {need.symbol}, and the target has {has}",
            hint="build the program on the oldest system that it is to run on",
        )
