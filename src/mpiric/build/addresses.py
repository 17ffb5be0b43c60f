"""Function addresses: libraries and plug-ins see the same address for a function as the program.

Libraries see the trampoline. A variant that takes the address of such a function gets the trampoline's
address too, so that the program recognises a callback that a plug-in registered. Calls remain direct, and so
do the entries of C++ vtables: they are not compared, and a detour would slow down every virtual call.
"""

import re
import struct
import sys
from bisect import bisect_right
from collections.abc import Sequence, Set

from mpiric.build.edit import ObjectEditor
from mpiric.build.elf import RELA, SHF_ALLOC, SHT_RELA, ElfFile, Section

_NOT_ADDRESSES = re.compile(r"\.(eh_frame|preinit_array|init_array|fini_array|ctors|dtors)")
# Relocation types of calls: PLT32, PLTOFF64; CALL26, …
_CALLS = {62: frozenset({4, 31}), 183: frozenset({282, 283, 314})}
_VTABLES = ("_ZTV", "_ZTC")
_X86_64, _PC32 = 62, 2
_X86_64_BY_GOT = frozenset({9, 41, 42})


def entry_symbol(function: str) -> str:
    """Return the name of the trampoline's symbol; the variant defines the function's name."""
    return f"__mpiric.entry.{function}"


def has_one_address(function: str) -> bool:
    """Check whether the address of a function is the trampoline's everywhere."""
    return function != "main"


def take_entries(elf: ElfFile, editor: ObjectEditor, functions: Set[str]) -> None:
    """Redirect every use of these functions that is not a call to their trampolines."""
    names = {s.number: s.name for s in elf.symbols if s.is_global and s.is_defined and s.name in functions}
    names = {number: name for number, name in names.items() if has_one_address(name)}
    vtables = _vtables(elf) if names else {}
    fresh: dict[str, int] = {}
    for section in elf.sections if names else ():
        patched = elf.sections[section.info] if section.kind == SHT_RELA else section
        if section is patched or not patched.flags & SHF_ALLOC or _NOT_ADDRESSES.match(patched.name):
            continue
        relocations = bytearray(editor.contents(section.number))
        direct = vtables.get(patched.number, ())
        for at, (offset, information, _) in enumerate(RELA.iter_unpack(bytes(relocations))):
            name = names.get(information >> 32)
            if name is None or _is_inside(offset, direct):
                continue
            if _is_call(elf, patched, offset, information & 0xFFFFFFFF):
                continue
            if name not in fresh:
                fresh[name] = editor.add_undefined(entry_symbol(name))
            new = fresh[name] << 32 | information & 0xFFFFFFFF
            struct.pack_into("<Q", relocations, at * RELA.size + 8, new)
        editor.replace_contents(section.number, bytes(relocations))


def _vtables(elf: ElfFile) -> dict[int, list[tuple[int, int]]]:
    """Return section → ranges of its vtables, including construction vtables."""
    vtables: dict[int, list[tuple[int, int]]] = {}
    for symbol in elf.symbols:
        if symbol.name.startswith(_VTABLES):
            vtables.setdefault(symbol.section, []).append((symbol.value, symbol.value + symbol.size_bytes))
    return {section: sorted(ranges) for section, ranges in vtables.items()}


def _is_inside(offset: int, ranges: Sequence[tuple[int, int]]) -> bool:
    at = bisect_right(ranges, (offset, sys.maxsize)) - 1
    return at >= 0 and offset < ranges[at][1]


def _is_call(elf: ElfFile, patched: Section, offset: int, kind: int) -> bool:
    """Check whether a relocation belongs to a call or jump; on x86-64 by the opcode before it."""
    if kind in _CALLS[elf.machine]:
        return True
    if elf.machine != _X86_64 or kind not in {_PC32, *_X86_64_BY_GOT}:
        return False
    first, second = elf.data[patched.offset + offset - 2 : patched.offset + offset]
    if kind == _PC32:
        return second in (0xE8, 0xE9) or (first == 0x0F and second & 0xF0 == 0x80)
    return first == 0xFF and second in (0x15, 0x25)
