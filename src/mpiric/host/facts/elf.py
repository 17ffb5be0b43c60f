"""What ELF files say about themselves, by pyelftools."""

import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from mpiric.host.host import Elf

_MAGIC = b"\x7fELF"


def read_elf(path: str) -> Elf | None:
    """Dynamic section and interpreter of an ELF file; None for scripts, data and unreadable files."""
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
    return Elf(soname, tuple(needed), tuple(paths["DT_RUNPATH"]) or fixed, interpreter, fixed)


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
