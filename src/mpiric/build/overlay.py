"""Data of all variants at one address, for only one variant ever runs: large zeroed arrays, equal tables.

A program with large static arrays has little else, and code reaches two gigabytes far: four copies of a
gigabyte do not link. So every large ``.bss`` of a variant is laid over the baseline's: uses of it become uses
of the baseline's section at the same offset. So are large read-only data that are the same in the baseline.
Costs a pass over all relocations, so it is done where it gains much only.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mpiric.build.edit import ObjectEditor
from mpiric.build.elf import (
    RELA,
    SHF_ALLOC,
    SHF_TLS,
    SHF_WRITE,
    SHT_NOBITS,
    SHT_PROGBITS,
    SHT_RELA,
    ElfFile,
    Section,
    Symbol,
)

WORTH_IT_BYTES = 64 << 20  # of zero-initialised data in one variant
_LARGE_BYTES = 64 << 10  # sections below stay where they are
_LARGE_TABLE_BYTES = 4 << 10  # of read-only data in one object
_APART = ".rodata.mpiric."


@dataclass(frozen=True)
class Pair:
    """A section of a variant and the one of the baseline that it is laid over."""

    own: Section
    base: Section

    def name_at(self, offset: int) -> str:
        """The symbol for an offset in the baseline's section."""
        return f"__mpiric.over.{self.base.number}.{offset:x}"


def zero_bytes(elf: ElfFile) -> int:
    """Size of all zero-initialised data that is not per thread."""
    return sum(section.size_bytes for section in elf.sections if _is_zero(section))


def pairs(elf: ElfFile, base: ElfFile, shared: Mapping[str, Symbol]) -> list[Pair]:
    """Large sections that can be laid over the baseline's.

    Data shared with libraries has its place in the baseline's section, so there it must be where the variant
    has its own unused copy.
    """
    found: list[Pair] = []
    left = [section for section in base.sections if _is_zero(section)]
    for own in elf.sections:
        peer = next((section for section in left if section.name == own.name), None)
        if not _is_zero(own) or peer is None:
            continue
        left.remove(peer)
        if own.size_bytes >= _LARGE_BYTES and _same_places(elf, Pair(own, peer), shared):
            found.append(Pair(own, peer))
    return found


def set_tables_apart(data: bytes, number: int) -> bytes:
    """An object whose large tables keep a section of their own in a partial link, to be compared there."""
    elf = ElfFile(data)
    relocated = {section.info for section in elf.sections if section.kind == SHT_RELA}
    large = [
        section
        for section in elf.sections
        if section.kind == SHT_PROGBITS
        and section.flags == SHF_ALLOC
        and section.size_bytes >= _LARGE_TABLE_BYTES
        and section.name.startswith(".rodata")
        and section.number not in relocated
    ]
    if not large:
        return data
    editor = ObjectEditor(elf)
    for section in large:
        editor.rename_section(section.number, f"{_APART}{number}{section.name}")
    return editor.finish()


def equal_tables(elf: ElfFile, base: ElfFile) -> list[Pair]:
    """Sections set apart by `set_tables_apart` that are the same in the baseline, byte for byte."""
    there = {section.name: section for section in base.sections if section.name.startswith(_APART)}
    found: list[Pair] = []
    for own in elf.sections:
        peer = there.get(own.name)
        if peer and own.alignment <= peer.alignment and elf.contents(own) == base.contents(peer):
            found.append(Pair(own, there.pop(own.name)))
    return found


def _is_zero(section: Section) -> bool:
    needed = SHF_ALLOC | SHF_WRITE
    return section.kind == SHT_NOBITS and section.flags & needed == needed and not section.flags & SHF_TLS


def _same_places(elf: ElfFile, pair: Pair, shared: Mapping[str, Symbol]) -> bool:
    own = {s.name: s.value for s in elf.symbols if s.is_global and s.section == pair.own.number}
    there = {name: symbol.value for name, symbol in shared.items() if symbol.section == pair.base.number}
    return all(own.get(name) == value for name, value in there.items())


def lay_over(
    elf: ElfFile, editor: ObjectEditor, chosen: Sequence[Pair], shared: Mapping[str, Symbol]
) -> set[tuple[int, int]]:
    """Turn uses of a variant's sections into uses of the baseline's: (its section, offset) of each."""
    by_section = {pair.own.number: pair for pair in chosen}
    used: set[tuple[int, int]] = set()
    moved: dict[int, int] = {}
    fresh: dict[str, int] = {}
    for symbol in elf.symbols:
        pair = by_section.get(symbol.section)
        if pair is None or (symbol.is_global and symbol.name in shared):
            continue
        name = pair.name_at(symbol.value)
        used.add((pair.base.number, symbol.value))
        if symbol.is_global:
            editor.rename(symbol, name)
            editor.forget_definition(symbol)
            continue
        if name not in fresh:
            fresh[name] = editor.add_undefined(name)
        moved[symbol.number] = fresh[name]
    for section in elf.sections:
        if section.kind == SHT_RELA:
            editor.replace_contents(section.number, _renumbered(editor.contents(section.number), moved))
    for pair in chosen:
        editor.resize_section(pair.own.number, 0)
    return used


def _renumbered(relocations: bytes, moved: Mapping[int, int]) -> bytes:
    out = bytearray(relocations)
    for at, (_, information, _) in enumerate(RELA.iter_unpack(relocations)):
        new = moved.get(information >> 32)
        if new is not None:
            struct.pack_into("<Q", out, at * RELA.size + 8, new << 32 | information & 0xFFFFFFFF)
    return bytes(out)


def make_room(editor: ObjectEditor, used: set[tuple[int, int]], chosen: Sequence[Pair]) -> list[str]:
    """Give the baseline's sections room for the largest variant and names for what is used; the names."""
    names: list[str] = []
    for pair in chosen:
        editor.resize_section(pair.base.number, max(pair.own.size_bytes, pair.base.size_bytes))
        editor.align_section(pair.base.number, pair.own.alignment)
    for section, offset in sorted(used):
        name = f"__mpiric.over.{section}.{offset:x}"
        editor.add_symbol(name, 1, section, offset, 0)
        names.append(name)
    return names
