"""Sharing of data among variants, of which only one runs: large zeroed arrays, equal tables.

Programs with large static arrays have little other data, and code addresses only two gigabytes, so that four
copies of a gigabyte do not link. Therefore every large ``.bss`` of a variant is placed over the baseline's:
its uses become uses of the baseline's section at the same offset. The same holds for large read-only data
that equal the baseline's. It costs a pass over all relocations, so it is done only for large data.
"""

import struct
from collections.abc import Mapping, Sequence

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
from mpiric.model.dataclass import dataclass

WORTH_IT_BYTES = 64 << 20  # smallest amount of zero-initialised data in a variant
_LARGE_BYTES = 64 << 10  # smallest section that is shared
_LARGE_TABLE_BYTES = 4 << 10  # smallest read-only data of an object
_APART = ".rodata.mpiric."


@dataclass(frozen=True)
class Pair:
    """Section of a variant and the baseline's section that replaces it."""

    variant: Section
    base: Section


def zero_bytes(elf: ElfFile) -> int:
    """Return the size of all zero-initialised data except thread-local data."""
    return sum(section.size_bytes for section in elf.sections if _is_zero(section))


def pairs(elf: ElfFile, base: ElfFile, shared: Mapping[str, Symbol]) -> list[Pair]:
    """Return large sections that the baseline's can replace.

    Data shared with libraries is in the baseline's section, at the offset of the variant's unused copy.
    """
    pairs: list[Pair] = []
    candidates = [section for section in base.sections if _is_zero(section)]
    for data_section in elf.sections:
        peer = next((section for section in candidates if section.name == data_section.name), None)
        if not _is_zero(data_section) or peer is None:
            continue
        candidates.remove(peer)
        if data_section.size_bytes >= _LARGE_BYTES and _same_places(elf, Pair(data_section, peer), shared):
            pairs.append(Pair(data_section, peer))
    return pairs


def set_tables_apart(data: bytes, number: int) -> bytes:
    """Return an object whose large tables keep separate sections in a partial link, for comparison."""
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
    """Return sections of `set_tables_apart` that equal the baseline's byte for byte."""
    base_sections = {section.name: section for section in base.sections if section.name.startswith(_APART)}
    pairs: list[Pair] = []
    for data_section in elf.sections:
        peer = base_sections.get(data_section.name)
        if (
            peer
            and data_section.alignment <= peer.alignment
            and elf.contents(data_section) == base.contents(peer)
        ):
            pairs.append(Pair(data_section, base_sections.pop(data_section.name)))
    return pairs


def _is_zero(section: Section) -> bool:
    needed = SHF_ALLOC | SHF_WRITE
    return section.kind == SHT_NOBITS and section.flags & needed == needed and not section.flags & SHF_TLS


def _same_places(elf: ElfFile, pair: Pair, shared: Mapping[str, Symbol]) -> bool:
    places = {s.name: s.value for s in elf.symbols if s.is_global and s.section == pair.variant.number}
    expected = {name: symbol.value for name, symbol in shared.items() if symbol.section == pair.base.number}
    return all(places.get(name) == value for name, value in expected.items())


def lay_over(
    elf: ElfFile, editor: ObjectEditor, chosen: Sequence[Pair], shared: Mapping[str, Symbol]
) -> set[tuple[int, int]]:
    """Redirect uses of a variant's sections to the baseline's; return (section, offset) of each."""
    by_section = {pair.variant.number: pair for pair in chosen}
    used: set[tuple[int, int]] = set()
    moved: dict[int, int] = {}
    fresh: dict[str, int] = {}
    for symbol in elf.symbols:
        pair = by_section.get(symbol.section)
        if pair is None or (symbol.is_global and symbol.name in shared):
            continue
        name = f"__mpiric.over.{pair.base.number}.{symbol.value:x}"
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
        editor.resize_section(pair.variant.number, 0)
    return used


def _renumbered(relocations: bytes, moved: Mapping[int, int]) -> bytes:
    out = bytearray(relocations)
    for at, (_, information, _) in enumerate(RELA.iter_unpack(relocations)):
        new = moved.get(information >> 32)
        if new is not None:
            struct.pack_into("<Q", out, at * RELA.size + 8, new << 32 | information & 0xFFFFFFFF)
    return bytes(out)


def make_room(editor: ObjectEditor, used: set[tuple[int, int]], chosen: Sequence[Pair]) -> list[str]:
    """Enlarge the baseline's sections for the largest variant and name the used offsets; return the names."""
    names: list[str] = []
    for pair in chosen:
        editor.resize_section(pair.base.number, max(pair.variant.size_bytes, pair.base.size_bytes))
        editor.align_section(pair.base.number, pair.variant.alignment)
    for section, offset in sorted(used):
        name = f"__mpiric.over.{section}.{offset:x}"
        editor.add_symbol(name, 1, section, offset, 0)
        names.append(name)
    return names
