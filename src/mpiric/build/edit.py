"""Editor of relocatable object files: rename and add sections; rename, split and add symbols.

Unchanged bytes keep their offset; larger content is appended with a new section table. Symbols are
only changed in place or appended, so no relocation has to be renumbered.
"""

import struct

from mpiric.build.elf import (
    SECTION,
    SHN_XINDEX,
    SHT_PROGBITS,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    STB_GLOBAL,
    SYMBOL,
    ElfFile,
    Symbol,
)

_HIDDEN = 2
_MAX_SECTIONS = 0xFF00


class ObjectEditor:
    """Object file under change; `finish` returns the new file."""

    def __init__(self, elf: ElfFile) -> None:
        self.elf = elf
        self._headers = [
            list(SECTION.unpack_from(elf.data, elf.section_table_offset + i * SECTION.size))
            for i in range(len(elf.sections))
        ]
        self._appended: list[tuple[int, bytes]] = []
        self._replaced: dict[int, bytes] = {}
        self._sizes: dict[int, int] = {}
        names_at = struct.unpack_from("<H", elf.data, 62)[0]
        self._names_at = elf.sections[0].link if names_at == SHN_XINDEX else names_at
        self._names = bytearray(elf.contents(elf.sections[self._names_at]))
        self._symbols_at = next((s.number for s in elf.sections if s.kind == SHT_SYMTAB), 0)
        table = elf.sections[self._symbols_at]
        self._symbols = bytearray(elf.contents(table)) if self._symbols_at else bytearray()
        self._strings_at = table.link if self._symbols_at else 0
        # Clang keeps the names of sections and symbols in one table.
        has_two_tables = self._strings_at != self._names_at
        self._strings = (
            bytearray(elf.contents(elf.sections[self._strings_at])) if has_two_tables else self._names
        )
        self._extension = next((s for s in elf.sections if s.kind == SHT_SYMTAB_SHNDX), None)
        self._wide = bytearray(elf.contents(self._extension)) if self._extension else bytearray()

    def rename_section(self, index: int, name: str, kind: int | None = None) -> None:
        """Rename a section, and optionally change its type."""
        self._headers[index][0] = self._name(name)
        if kind is not None:
            self._headers[index][1] = kind

    def add_section(self, name: str, contents: bytes, flags: int) -> None:
        """Append a section that is not loaded."""
        self._headers.append([self._name(name), SHT_PROGBITS, flags, 0, 0, len(contents), 0, 0, 8, 0])
        self._appended.append((len(self._headers) - 1, contents))

    def resize_section(self, index: int, size_bytes: int) -> None:
        """Increase the size of a section without bytes in the file."""
        grown = self._sizes.get(index, 0)
        self._sizes[index] = self._headers[index][5] = max(size_bytes, grown)

    def align_section(self, index: int, alignment: int) -> None:
        """Raise the alignment of a section."""
        self._headers[index][8] = max(alignment, self._headers[index][8])

    def replace_contents(self, index: int, contents: bytes) -> None:
        """Replace the bytes of a section with others of the same length."""
        self._replaced[index] = contents

    def contents(self, index: int) -> bytes:
        """Return the current bytes of a section."""
        return self._replaced.get(index) or self.elf.contents(self.elf.sections[index])

    def add_undefined(self, name: str) -> int:
        """Append an undefined global symbol and return its index."""
        self._symbols += SYMBOL.pack(self._string(name), STB_GLOBAL << 4, _HIDDEN, 0, 0, 0)
        if self._extension:
            self._wide += struct.pack("<I", 0)
        return len(self._symbols) // SYMBOL.size - 1

    def rebind(self, symbol: Symbol, binding: int) -> None:
        """Change the binding of a global symbol."""
        info = (binding << 4) | symbol.kind
        self._symbols[symbol.number * SYMBOL.size + 4] = info

    def rename(self, symbol: Symbol, name: str) -> None:
        """Rename a symbol."""
        struct.pack_into("<I", self._symbols, symbol.number * SYMBOL.size, self._string(name))

    def forget_definition(self, symbol: Symbol) -> None:
        """Redirect all uses of the symbol to an undefined symbol; its definition remains in place."""
        at = symbol.number * SYMBOL.size
        binding = STB_GLOBAL << 4
        struct.pack_into("<BBHQ", self._symbols, at + 4, binding | (symbol.kind & 15), 0, 0, 0)
        if self._wide:
            struct.pack_into("<I", self._wide, 4 * symbol.number, 0)

    def add_symbol(self, name: str, kind: int, section: int, value: int, size_bytes: int) -> None:
        """Append a global hidden symbol."""
        short = section if section < _MAX_SECTIONS else SHN_XINDEX
        self._symbols += SYMBOL.pack(
            self._string(name), (STB_GLOBAL << 4) | kind, _HIDDEN, short, value, size_bytes
        )
        if self._extension:
            self._wide += struct.pack("<I", section if short == SHN_XINDEX else 0)

    def finish(self) -> bytes:
        """Return the changed file."""
        out = bytearray(self.elf.data)
        for index, contents in self._replaced.items():
            offset = self.elf.sections[index].offset
            out[offset : offset + len(contents)] = contents
        grown = [(self._names_at, bytes(self._names)), *self._appended]
        if self._symbols_at:
            grown.append((self._symbols_at, bytes(self._symbols)))
            if self._strings_at != self._names_at:
                grown.append((self._strings_at, bytes(self._strings)))
        if self._extension:
            grown.append((self._extension.number, bytes(self._wide)))
        for index, contents in grown:
            if index < len(self.elf.sections) and contents == self.elf.contents(self.elf.sections[index]):
                continue  # unchanged
            out += bytes(-len(out) % 8)
            self._headers[index][4], self._headers[index][5] = len(out), len(contents)
            out += contents
        out += bytes(-len(out) % 8)
        table_at, count = len(out), len(self._headers)
        if count >= _MAX_SECTIONS:
            self._headers[0][5] = count
        for header in self._headers:
            out += SECTION.pack(*header)
        struct.pack_into("<Q", out, 40, table_at)
        struct.pack_into("<H", out, 60, count if count < _MAX_SECTIONS else 0)
        return bytes(out)

    def _name(self, name: str) -> int:
        at = len(self._names)
        self._names += name.encode(errors="surrogateescape") + b"\0"
        return at

    def _string(self, name: str) -> int:
        at = len(self._strings)
        self._strings += name.encode(errors="surrogateescape") + b"\0"
        return at
