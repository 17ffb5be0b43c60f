"""Facts from ELF files, read with pyelftools."""

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from struct import Struct
from typing import Any

from mpiric.host.files import open_and_read
from mpiric.host.host import Elf
from mpiric.model.errors import MpiricError

_LARGEST_LIBRARY_BYTES = 1 << 30
_MAGIC = b"\x7fELF"
_PROCESSORS = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64", "EM_386": "i686", "EM_PPC64": "ppc64le"}
_GLIBC = re.compile(r"GLIBC_(\d+(?:\.\d+)+)")  # not GLIBC_PRIVATE
_BANNER = re.compile(rb"GNU C Library [^\n]{0,200}? version (\d+)\.(\d+)")
_LONGEST_TEXT = 1 << 20
_VERSION_BYTES = 16  # the smallest entry of a version table
_INDEX = 0x7FFF  # mask of a version index; the bit above marks a hidden symbol
_GLOBAL_OR_WEAK = (1, 2)  # bindings of symbols
_NAMED = {"GLIBC_ABI_DT_RELR": "GLIBC_2.36"}  # version of compressed relocations, which glibc 2.36 introduced


def read_elf(path: str) -> Elf | None:
    """Return the facts of an ELF file; None for scripts, data and unreadable files."""
    facts: Elf | None = _with_elf(path, _dynamic)
    return facts


def read_exported_symbols(path: str) -> frozenset[str]:
    """Return the defined names of the dynamic symbol table; empty without a table."""
    names: frozenset[str] | None = _with_elf(path, _exported)
    return names or frozenset()


def read_imported_symbols(path: str) -> frozenset[str]:
    """Return the undefined names of the dynamic symbol table; empty without a table."""
    names: frozenset[str] | None = _with_elf(path, _imported)
    return names or frozenset()


def read_glibc_symbols(path: str) -> tuple[tuple[tuple[int, ...], str], ...]:
    """Return the glibc symbol versions that a file requires, highest first, each with an example symbol."""
    symbols: tuple[tuple[tuple[int, ...], str], ...] | None = _with_elf(path, _by_version)
    return symbols or ()


def read_needed_versions(path: str) -> Mapping[str, tuple[str, ...]]:
    """Return the symbol versions that a file requires of each library, by soname: ``GLIBCXX_3.4.29``."""
    versions: dict[str, tuple[str, ...]] | None = _with_elf(path, _needed_versions)
    return versions or {}


def read_rpath_tags(path: str) -> tuple[int, ...]:
    """Return the file offsets of the tags of DT_RPATH entries; empty without any."""
    offsets: tuple[int, ...] | None = _with_elf(path, _rpath_tags)
    return offsets or ()


def _with_elf(path: str, question: Callable[[Any], Any]) -> Any:
    try:
        facts = os.stat(path)  # noqa: PTH116 never through a Path: thousands of files
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(facts.st_mode):  # a FIFO would block
        return None
    return _answer(path, (facts.st_ino, facts.st_size, facts.st_mtime_ns), question)


@lru_cache(maxsize=1024)
def _answer(path: str, _: tuple[int, int, int], question: Callable[[Any], Any]) -> Any:
    from elftools.elf.elffile import ELFFile

    try:
        with Path(path).open("rb") as stream:
            if stream.read(4) != _MAGIC:
                return None
            stream.seek(0)
            return question(ELFFile(stream))
    except Exception:  # pyelftools raises any kind, AssertionError to ZeroDivisionError, for a damaged file
        return None


def _dynamic(elf: Any) -> Elf:
    soname, interpreter = "", ""
    needed: list[str] = []
    paths: dict[str, list[str]] = {"DT_RUNPATH": [], "DT_RPATH": []}
    for segment in elf.iter_segments():
        kind = segment.header.p_type
        if kind == "PT_INTERP":
            interpreter = segment.get_interp_name()
        if kind != "PT_DYNAMIC":
            continue
        for tag in segment.iter_tags():
            if tag.entry.d_tag == "DT_NEEDED":
                needed.append(tag.needed)
            elif tag.entry.d_tag == "DT_SONAME":
                soname = tag.soname
            elif tag.entry.d_tag in paths:
                text = tag.runpath if tag.entry.d_tag == "DT_RUNPATH" else tag.rpath
                paths[tag.entry.d_tag] += [part for part in text.split(":") if part]
    fixed = () if paths["DT_RUNPATH"] else tuple(paths["DT_RPATH"])
    section = elf.get_section_by_name(".note.gnu.build-id")
    return Elf(
        soname,
        tuple(needed),
        tuple(paths["DT_RUNPATH"]) or fixed,
        interpreter,
        fixed,
        bits=elf.elfclass,
        processor=_PROCESSORS.get(elf.header.e_machine, elf.header.e_machine),
        build_id=next((note["n_desc"] for note in section.iter_notes()), "") if section is not None else "",
        glibc_needed=_highest(elf, ".gnu.version_r"),
        glibc_offered=_glibc_release(elf) if soname == "libc.so.6" else (),
    )


def _glibc_release(elf: Any) -> tuple[int, ...]:
    """Return the version in glibc's banner, because releases without new symbols add no symbol version."""
    section = elf.get_section_by_name(".rodata")
    banner = _BANNER.search(section.data()) if section is not None else None
    return (int(banner[1]), int(banner[2])) if banner else _highest(elf, ".gnu.version_d")


def _highest(elf: Any, table: str) -> tuple[int, ...]:
    section = elf.get_section_by_name(table)
    names = (auxiliary.name for _, auxiliaries in _versions(section) for auxiliary in auxiliaries)
    return max((_version(_NAMED.get(name, name)) for name in names), default=())


def _needed_versions(elf: Any) -> dict[str, tuple[str, ...]]:
    table = elf.get_section_by_name(".gnu.version_r")
    return {
        library.name: tuple(version.name for version in versions) for library, versions in _versions(table)
    }


def _versions(table: Any) -> Iterator[Any]:
    """Yield the entries of a version table, at most as many as fit: the entry count may be damaged."""
    if table is not None:
        yield from islice(table.iter_versions(), table.header.sh_size // _VERSION_BYTES)


def _rpath_tags(elf: Any) -> tuple[int, ...]:
    entry_bytes = elf.elfclass // 4  # a tag and a value
    return tuple(
        segment.header.p_offset + number * entry_bytes
        for segment in elf.iter_segments("PT_DYNAMIC")
        for number, tag in enumerate(segment.iter_tags())
        if tag.entry.d_tag == "DT_RPATH"
    )


def _by_version(elf: Any) -> tuple[tuple[tuple[int, ...], str], ...]:
    table = elf.get_section_by_name(".gnu.version_r")
    numbers = elf.get_section_by_name(".gnu.version")
    symbols = elf.get_section_by_name(".dynsym")
    if table is None or numbers is None or symbols is None:
        return ()
    names = {
        version.entry.vna_other: _NAMED.get(version.name, version.name)
        for _, every in _versions(table)
        for version in every
    }
    examples = {version: "compressed relocations" for name in names.values() if (version := _version(name))}
    # As an array: large libraries have 100,000 rows, and only one of each kind is needed.
    rows = memoryview(numbers.data()).cast("H")
    first = {index & _INDEX: row for row, index in reversed(tuple(enumerate(rows)))}
    for index, name in names.items():
        if index in first and (version := _version(name)):
            examples[version] = symbols.get_symbol(first[index]).name
    return tuple(sorted(examples.items(), reverse=True))


def _version(name: str) -> tuple[int, ...]:
    match = _GLIBC.fullmatch(name)
    return tuple(map(int, match[1].split("."))) if match else ()


def _exported(elf: Any) -> frozenset[str]:
    return frozenset(name for name, is_defined in _symbols(elf) if is_defined)


def _imported(elf: Any) -> frozenset[str]:
    return frozenset(name for name, is_defined in _symbols(elf) if not is_defined)


def _symbols(elf: Any) -> Iterator[tuple[str, bool]]:
    """Yield the names of global and weak dynamic symbols, and whether they are defined.

    The table is unpacked here, because pyelftools needs 0.3 ms per symbol and libraries have 100,000.
    """
    table = elf.get_section_by_name(".dynsym")
    if table is None:
        return
    order = "<" if elf.little_endian else ">"
    entry = Struct(f"{order}IBxH16x" if elf.elfclass == 64 else f"{order}I8xBxH")
    names, data = table.stringtable.data(), table.data()
    for at, info, section in entry.iter_unpack(data[: len(data) // entry.size * entry.size]):
        if at and info >> 4 in _GLOBAL_OR_WEAK and (name := names[at : names.find(b"\0", at)]):
            yield name.decode(errors="replace"), section != 0


def read_embedded_texts(path: str, start: bytes) -> tuple[str, ...]:
    """Return the NUL-terminated texts of a file that start with ``start``; empty if it is unreadable."""
    try:
        data = open_and_read(path, "library", _LARGEST_LIBRARY_BYTES)
    except (OSError, ValueError, MpiricError):
        return ()
    texts, at = [], data.find(b"\0" + start)
    while at >= 0:
        end = data.find(b"\0", at + 1, at + _LONGEST_TEXT)
        if end < 0:
            break
        texts.append(data[at + 1 : end].decode(errors="replace"))
        at = data.find(b"\0" + start, end)
    return tuple(texts)
