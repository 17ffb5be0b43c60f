"""Reader of 64-bit little-endian ELF files: sections and symbols, without a copy of the file.

pyelftools builds an object per entry; a link looks at every symbol of every object, so this reader keeps to
``struct``.
"""

import struct
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

MAGIC = b"\x7fELF\x02\x01"
RELOCATABLE, EXECUTABLE, SHARED = 1, 2, 3
MACHINES = {62: "x86_64", 183: "aarch64"}

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOBITS = 1, 2, 3, 4, 8
SHT_DYNSYM, SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY, SHT_SYMTAB_SHNDX = 11, 14, 15, 16, 18
SHF_WRITE, SHF_ALLOC, SHF_EXEC, SHF_MERGE, SHF_TLS, SHF_EXCLUDE = 1, 2, 4, 0x10, 0x400, 0x80000000
SHN_UNDEF, SHN_ABS, SHN_COMMON, SHN_XINDEX = 0, 0xFFF1, 0xFFF2, 0xFFFF
STB_LOCAL, STB_GLOBAL, STB_WEAK, STB_UNIQUE = 0, 1, 2, 10
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_SECTION, STT_TLS, STT_IFUNC = 0, 1, 2, 3, 6, 10

SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELA = struct.Struct("<QQq")


class Section(NamedTuple):
    """Entry of the section table."""

    number: int
    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size_bytes: int
    link: int
    info: int
    alignment: int
    entry_bytes: int


class Symbol(NamedTuple):
    """Entry of a symbol table; large ``section`` numbers are resolved through the extension table."""

    number: int
    name: str
    binding: int
    kind: int
    visibility: int
    section: int
    value: int
    size_bytes: int

    @property
    def is_defined(self) -> bool:
        """Check whether this file defines the symbol; COMMON counts."""
        return self.section != SHN_UNDEF

    @property
    def is_global(self) -> bool:
        """Check whether other files can see the symbol."""
        return self.binding != STB_LOCAL


class ElfFile:
    """ELF file in memory."""

    def __init__(self, data: bytes) -> None:
        if data[:6] != MAGIC:
            raise ValueError("not a 64-bit little-endian ELF file")
        self.data = data
        self.kind, self.machine = struct.unpack_from("<HH", data, 16)
        (self.section_table_offset,) = struct.unpack_from("<Q", data, 40)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Sections in the order of the table."""
        if not self.section_table_offset:
            return ()
        count, names_at = struct.unpack_from("<HH", self.data, 60)
        first = SECTION.unpack_from(self.data, self.section_table_offset)
        count, names_at = count or first[5], first[6] if names_at == SHN_XINDEX else names_at
        raw = [
            SECTION.unpack_from(self.data, self.section_table_offset + i * SECTION.size) for i in range(count)
        ]
        names = raw[names_at][4]
        return tuple(Section(i, self._text(names + entry[0]), *entry[1:]) for i, entry in enumerate(raw))

    def section(self, name: str) -> Section | None:
        """Return the first section with a name."""
        return next((section for section in self.sections if section.name == name), None)

    def contents(self, section: Section) -> bytes:
        """Return the bytes of a section; zeros for a section without bytes in the file."""
        if section.kind == SHT_NOBITS:
            return bytes(section.size_bytes)
        return self.data[section.offset : section.offset + section.size_bytes]

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """Symbol table including the empty first entry."""
        return tuple(self._symbols_of(SHT_SYMTAB))

    @cached_property
    def dynamic_symbols(self) -> tuple[Symbol, ...]:
        """Symbols visible to other files at run time."""
        return tuple(self._symbols_of(SHT_DYNSYM))

    @property
    def defined_names(self) -> set[str]:
        """Names that this object defines for others."""
        return {s.name for s in self.symbols if s.is_global and s.is_defined}

    @property
    def needed_names(self) -> set[str]:
        """Names that this object needs from others."""
        return {s.name for s in self.symbols if s.is_global and not s.is_defined and s.name}

    @property
    def has_lto(self) -> bool:
        """Check whether the file contains GCC's intermediate code."""
        return any(section.name.startswith(".gnu.lto_") for section in self.sections)

    def _symbols_of(self, kind: int) -> Iterator[Symbol]:
        table = next((section for section in self.sections if section.kind == kind), None)
        if table is None:
            return
        strings = self.sections[table.link].offset
        extension = next(
            (s for s in self.sections if s.kind == SHT_SYMTAB_SHNDX and s.link == table.number), None
        )
        raw = self.data[table.offset : table.offset + table.size_bytes]
        for index, (name, info, other, section, value, size) in enumerate(SYMBOL.iter_unpack(raw)):
            where = section
            if section == SHN_XINDEX and extension is not None:
                (where,) = struct.unpack_from("<I", self.data, extension.offset + 4 * index)
            yield Symbol(
                index, self._text(strings + name), info >> 4, info & 15, other & 3, where, value, size
            )

    def _text(self, offset: int) -> str:
        return self.data[offset : self.data.index(b"\0", offset)].decode(errors="surrogateescape")


def is_elf(data: bytes) -> bool:
    """Check whether these are the first bytes of a supported file."""
    return data[:6] == MAGIC
