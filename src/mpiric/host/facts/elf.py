"""What ELF files say about themselves, by pyelftools."""

import os
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from mpiric.host.host import Elf

_MAGIC = b"\x7fELF"
_PROCESSORS = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64", "EM_386": "i686", "EM_PPC64": "ppc64le"}
_GLIBC = re.compile(r"GLIBC_(\d+(?:\.\d+)+)")  # not GLIBC_PRIVATE
_BANNER = re.compile(rb"GNU C Library [^\n]{0,200}? version (\d+)\.(\d+)")
_NAMED = {"GLIBC_ABI_DT_RELR": "GLIBC_2.36"}  # for compressed relocations, since that version


def read_elf(path: str) -> Elf | None:
    """What an ELF file says of itself; None for scripts, data and unreadable files."""
    facts: Elf | None = _with_elf(path, _dynamic)
    return facts


def read_exported_symbols(path: str) -> frozenset[str]:
    """Defined names of the dynamic symbol table; empty when there is none."""
    names: frozenset[str] | None = _with_elf(path, _exported)
    return names or frozenset()


def read_imported_symbols(path: str) -> frozenset[str]:
    """Undefined names of the dynamic symbol table; empty when there is none."""
    names: frozenset[str] | None = _with_elf(path, _imported)
    return names or frozenset()


def _with_elf(path: str, question: Callable[[Any], Any]) -> Any:
    try:
        facts = os.stat(path)  # noqa: PTH116 never through a Path: thousands of files
    except (OSError, ValueError):
        return None
    return _answer(path, (facts.st_ino, facts.st_size, facts.st_mtime_ns), question)


@lru_cache(maxsize=1024)
def _answer(path: str, _: tuple[int, int, int], question: Callable[[Any], Any]) -> Any:
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with Path(path).open("rb") as stream:
            if stream.read(4) != _MAGIC:
                return None
            stream.seek(0)
            return question(ELFFile(stream))
    except (OSError, ELFError, UnicodeError, ValueError):
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
    return Elf(
        soname,
        tuple(needed),
        tuple(paths["DT_RUNPATH"]) or fixed,
        interpreter,
        fixed,
        bits=elf.elfclass,
        processor=_PROCESSORS.get(elf.header.e_machine, elf.header.e_machine),
        glibc_needed=_highest(elf, ".gnu.version_r"),
        glibc_offered=_glibc_release(elf) if soname == "libc.so.6" else (),
    )


def _glibc_release(elf: Any) -> tuple[int, ...]:
    """The version in glibc's banner: a release without new symbols in libc.so.6 defines none of its own."""
    section = elf.get_section_by_name(".rodata")
    banner = _BANNER.search(section.data()) if section is not None else None
    return (int(banner[1]), int(banner[2])) if banner else _highest(elf, ".gnu.version_d")


def _highest(elf: Any, table: str) -> tuple[int, ...]:
    section = elf.get_section_by_name(table)
    names = (
        auxiliary.name
        for _, auxiliaries in (section.iter_versions() if section is not None else ())
        for auxiliary in auxiliaries
    )
    found = (_GLIBC.fullmatch(_NAMED.get(name, name)) for name in names)
    return max((tuple(map(int, match[1].split("."))) for match in found if match), default=())


def _exported(elf: Any) -> frozenset[str]:
    return frozenset(symbol.name for symbol in _symbols(elf) if symbol.entry.st_shndx != "SHN_UNDEF")


def _imported(elf: Any) -> frozenset[str]:
    return frozenset(symbol.name for symbol in _symbols(elf) if symbol.entry.st_shndx == "SHN_UNDEF")


def _symbols(elf: Any) -> Iterator[Any]:
    table = elf.get_section_by_name(".dynsym")
    for symbol in table.iter_symbols() if table is not None else ():
        if symbol.name and symbol.entry.st_info.bind in {"STB_GLOBAL", "STB_WEAK"}:
            yield symbol


def read_embedded_texts(path: str, start: bytes, longest: int = 1 << 20) -> tuple[str, ...]:
    """NUL-terminated texts of a file that begin so; empty when there are none, or the file cannot be read."""
    try:
        data = Path(path).read_bytes()
    except OSError:
        return ()
    texts, at = [], data.find(b"\0" + start)
    while at >= 0:
        end = data.find(b"\0", at + 1, at + longest)
        if end < 0:
            break
        texts.append(data[at + 1 : end].decode(errors="replace"))
        at = data.find(b"\0" + start, end)
    return tuple(texts)
