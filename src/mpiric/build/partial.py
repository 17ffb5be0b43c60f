"""Preparation of a variant for the final link: its objects in one, with unique names.

The rest of the program (start-up code, shared libraries, plug-ins) accesses a variant by names that the
dispatcher knows; constructors and destructors are moved to tables of the dispatcher.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from mpiric.build.addresses import take_entries
from mpiric.build.edit import ObjectEditor
from mpiric.build.elf import (
    RELA,
    SHF_ALLOC,
    SHF_EXEC,
    SHF_MERGE,
    SHF_WRITE,
    SHN_ABS,
    SHN_COMMON,
    SHT_NOBITS,
    SHT_PROGBITS,
    SHT_RELA,
    STB_GLOBAL,
    STB_UNIQUE,
    STT_FUNC,
    STT_NOTYPE,
    STT_OBJECT,
    STT_TLS,
    ElfFile,
    Section,
    Symbol,
)
from mpiric.build.overlay import WORTH_IT_BYTES, Pair, equal_tables, lay_over, make_room, pairs, zero_bytes
from mpiric.build.targets import symbol_word
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError

_CALLS = re.compile(r"\.(preinit_array|init_array|fini_array|ctors|dtors)(?:\.(\d+))?$")
_C_NAME = re.compile(r"[A-Za-z_]\w*$")
_BOUND = re.compile(r"__(start|stop)_([A-Za-z_]\w*)$")
_LAST_PRIORITY = 65535
# Variants follow one another without page alignment. Cache-line alignment ensures that 64-byte vectors cross
# lines no more often than in a program with one variant.
_ALIGNED = frozenset({".text", ".rodata", ".data", ".bss"})
_CACHE_LINE_BYTES = 64


@dataclass(frozen=True)
class Exports:
    """Names of the program that other files use, as defined by the baseline."""

    functions: tuple[str, ...]
    data: Mapping[str, Symbol]


@dataclass(frozen=True)
class Calls:
    """Constructors or destructors of one priority; ``symbol`` is the table of ``count`` pointers."""

    kind: str  # "preinit", "init" or "fini"
    priority: int  # 65535 by default
    symbol: str
    count: int
    backwards: bool  # .ctors and .dtors run from the end


@dataclass(frozen=True)
class Copy:
    """Initial value of an exported datum in this variant, if it differs from the baseline's."""

    name: str
    image: str
    size_bytes: int
    read_only: bool


@dataclass
class Variant:
    """Variant as an object for the final link; only the names in ``keep`` remain visible."""

    target: str
    data: bytes
    keep: list[str] = field(default_factory=list)
    calls: list[Calls] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    code_bytes: int = 0

    def function(self, name: str) -> str:
        """Return the symbol by which the dispatcher reaches a function of this variant."""
        return f"__mpiric.{symbol_word(self.target)}.{name}"


def find_exports(elf: ElfFile, requested: Iterable[str]) -> Exports:
    """Sort the requested names that the baseline defines; data with shared storage stay together."""
    requested = set(requested)
    functions: list[str] = []
    data: dict[str, Symbol] = {}
    visible = [s for s in elf.symbols if s.is_global and s.is_defined and s.section != SHN_ABS]
    for symbol in visible:
        if symbol.name not in requested:
            continue
        if symbol.section < len(elf.sections) and elf.sections[symbol.section].flags & SHF_EXEC:
            functions.append(symbol.name)
        elif symbol.kind in (STT_OBJECT, STT_TLS, STT_NOTYPE):
            data[symbol.name] = symbol
    by_section: dict[int, list[Symbol]] = {}
    for symbol in data.values():
        by_section.setdefault(symbol.section, []).append(symbol)
    for symbol in visible:
        aliases = by_section.get(symbol.section, ())
        if symbol.name not in data and any(
            symbol.value < other.value + other.size_bytes and other.value < symbol.value + symbol.size_bytes
            for other in aliases
        ):
            data[symbol.name] = symbol
    return Exports(tuple(sorted(functions)), dict(sorted(data.items())))


def make_variants(parts: Mapping[str, ElfFile], baseline: str, exports: Exports) -> list[Variant]:
    """Prepare all partially linked objects; the baseline is last and owns shared data."""
    base = parts[baseline]
    base_editor = ObjectEditor(base)
    over: list[Pair] = []
    used: set[tuple[int, int]] = set()
    variants: list[Variant] = []
    for target, elf in parts.items():
        if target == baseline:
            continue
        editor = ObjectEditor(elf)
        chosen = equal_tables(elf, base)
        if zero_bytes(elf) >= WORTH_IT_BYTES:
            chosen += pairs(elf, base, exports.data)
        if chosen:
            used |= lay_over(elf, editor, chosen, exports.data)
            over.extend(chosen)
        variants.append(make_variant(target, elf, exports, base, editor))
    names = make_room(base_editor, used, over)
    last = make_variant(baseline, base, exports, None, base_editor)
    last.keep.extend(names)
    return [*variants, last]


def make_variant(
    target: str, elf: ElfFile, exports: Exports, base: ElfFile | None, editor: ObjectEditor
) -> Variant:
    """Prepare a partially linked object; ``base`` is None for the baseline, which owns exported data."""
    variant = Variant(target, b"")
    _move_sections(elf, editor, variant)
    functions = set(exports.functions)
    take_entries(elf, editor, functions)
    # Offsets of relocations in some sections, where the bytes of the file are not the value.
    sections = {s.section for s in elf.symbols if s.name in exports.data and s.is_defined}
    relocated: dict[int, list[int]] = {}
    for section in elf.sections:
        if section.kind == SHT_RELA and section.info in sections:
            relocated[section.info] = [offset for offset, _, _ in RELA.iter_unpack(elf.contents(section))]
    for symbol in elf.symbols:
        if not symbol.is_global:
            continue
        if symbol.binding == STB_UNIQUE:
            editor.rebind(symbol, STB_GLOBAL)
        if symbol.is_defined and symbol.name in functions:
            alias = variant.function(symbol.name)
            editor.add_symbol(alias, STT_FUNC, symbol.section, symbol.value, symbol.size_bytes)
            variant.keep.append(alias)
        elif symbol.is_defined and symbol.name in exports.data:
            if base is None:
                variant.keep.append(symbol.name)
            else:
                _share(symbol, elf, editor, variant, exports, base, relocated)
    variant.data = editor.finish()
    return variant


def _move_sections(elf: ElfFile, editor: ObjectEditor, variant: Variant) -> None:
    word = symbol_word(variant.target)
    own_names: set[str] = set()
    for section in elf.sections:
        calls = _CALLS.match(section.name)
        if not section.flags & SHF_ALLOC or not section.size_bytes:
            continue
        if section.name in _ALIGNED and not section.flags & SHF_MERGE:
            editor.align_section(section.number, _CACHE_LINE_BYTES)
        if section.name in (".init", ".fini"):
            raise MpiricError(
                f"an object adds code to the section {section.name}, which runs before a variant is chosen",
                hint="use __attribute__((constructor)) instead",
            )
        if calls:
            _move_calls(section, calls[1], calls[2], editor, variant)
        elif _C_NAME.match(section.name):
            own_names.add(section.name)
            editor.rename_section(section.number, f"{section.name}__mpiric_{word}")
        elif section.flags & SHF_EXEC:
            variant.code_bytes += section.size_bytes
            editor.rename_section(section.number, f".mpiric.text.{word}")
    for symbol in elf.symbols:
        bound = _BOUND.match(symbol.name)
        if bound and not symbol.is_defined and bound[2] in own_names:
            editor.rename(symbol, f"{symbol.name}__mpiric_{word}")


def _move_calls(
    section: Section, kind: str, number: str | None, editor: ObjectEditor, variant: Variant
) -> None:
    old_style = kind in ("ctors", "dtors")
    priority = int(number) if number else _LAST_PRIORITY
    if old_style and number:
        priority = _LAST_PRIORITY - priority
    short = {"preinit_array": "preinit", "init_array": "init", "ctors": "init"}.get(kind, "fini")
    symbol = variant.function(f"{kind}.{section.number}")
    section_name = f".data.rel.ro.mpiric.{symbol_word(variant.target)}.{kind}.{section.number}"
    editor.rename_section(section.number, section_name, SHT_PROGBITS)
    editor.add_symbol(symbol, STT_OBJECT, section.number, 0, section.size_bytes)
    variant.keep.append(symbol)
    variant.calls.append(Calls(short, priority, symbol, section.size_bytes // 8, old_style))


def _share(
    symbol: Symbol,
    elf: ElfFile,
    editor: ObjectEditor,
    variant: Variant,
    exports: Exports,
    base: ElfFile,
    relocated: Mapping[int, Sequence[int]],
) -> None:
    """Redirect this variant to the baseline's storage; record its initial value if it differs."""
    owner = exports.data[symbol.name]
    if symbol.size_bytes > owner.size_bytes:
        raise MpiricError(
            f"'{symbol.name}' is larger in {variant.target} than in the baseline, and a library uses it",
            hint="define it with the same size for every CPU",
        )
    editor.forget_definition(symbol)
    if symbol.kind == STT_TLS or symbol.section == SHN_COMMON:
        return
    section = elf.sections[symbol.section]
    begin, end = symbol.value, symbol.value + symbol.size_bytes
    has_pointers = any(begin <= at < end for at in relocated.get(symbol.section, ()))
    same = _initial(elf, symbol) == _initial(base, owner)[: symbol.size_bytes]
    if section.kind == SHT_NOBITS or (same and not has_pointers):
        return
    image = variant.function(f"data.{symbol.name}")
    editor.add_symbol(image, STT_OBJECT, symbol.section, symbol.value, symbol.size_bytes)
    variant.keep.append(image)
    owner_section = base.sections[owner.section]
    read_only = not owner_section.flags & SHF_WRITE or owner_section.name.startswith(".data.rel.ro")
    variant.copies.append(Copy(symbol.name, image, symbol.size_bytes, read_only))


def _initial(elf: ElfFile, symbol: Symbol) -> bytes:
    section = elf.sections[symbol.section]
    if section.kind == SHT_NOBITS:
        return bytes(symbol.size_bytes)
    return elf.data[section.offset + symbol.value : section.offset + symbol.value + symbol.size_bytes]
