"""Parser of compiler command lines: mode, sources, other arguments."""

import os
from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

# Words whose value is the next word. Options with the value attached need no entry.
_TAKES_VALUE = frozenset((
    "-o", "-x", "-I", "-L", "-l", "-D", "-U", "-u", "-z", "-e", "-T", "-J", "-B", "-A", "-G", "-F",
    "-h", "-include", "-imacros", "-isystem", "-iquote", "-idirafter", "-iprefix", "-iwithprefix",
    "-iwithprefixbefore", "-isysroot", "--sysroot", "-MF", "-MT", "-MQ", "-Xlinker", "-Xassembler",
    "-Xpreprocessor", "-Xclang", "-Xopenmp-target", "-Xarch_host", "-mllvm", "-arch", "-target",
    "-wrapper", "-dumpbase", "-dumpdir", "-dumpbase-ext", "-aux-info", "--param", "-module",
    "-gcc-toolchain", "-soname", "-rpath", "-framework", "-specs", "-fplugin-arg", "-cc", "-main",
    "-mlink-builtin-bitcode",
))  # fmt: skip
_ASKS_ONLY = frozenset((
    "-E", "-M", "-MM", "-S", "-P", "-V", "-###", "-fsyntax-only", "-dumpversion", "-dumpmachine",
    "-dumpspecs", "-dumpfullversion", "--version", "--target-help", "-compile-info", "-compile_info",
    "-link-info", "-link_info", "-qversion", "--info",
))  # fmt: skip
_ASKS_ONLY_BEGINNINGS = ("-print-", "--print", "-show", "--show", "-help", "--help")
_C = frozenset([".c", ".i"])
_CXX = frozenset([".cc", ".cp", ".cxx", ".cpp", ".c++", ".ii", ".CPP", ".C", ".cppm"])
_FORTRAN = frozenset((
    ".f", ".for", ".ftn", ".fpp", ".f77", ".f90", ".f95", ".f03", ".f08", ".F", ".FOR", ".FTN", ".FPP",
    ".F77", ".F90", ".F95", ".F03", ".F08",
))  # fmt: skip
_PLAIN = frozenset((
    ".s", ".S", ".sx", ".asm", ".h", ".hh", ".hpp", ".hxx", ".H", ".m", ".mm", ".cu", ".hip", ".go",
    ".d", ".ads", ".adb",
))  # fmt: skip
_DIALECTS = {
    "c": "c", "cpp-output": "c", "c++": "c++", "c++-cpp-output": "c++",
    "f77": "fortran", "f77-cpp-input": "fortran", "f95": "fortran", "f95-cpp-input": "fortran",
}  # fmt: skip


class Mode(Enum):
    """Action of the compiler."""

    ASK = "ask"  # print information, preprocess or stop at assembler: passed through
    COMPILE = "compile"
    LINK = "link"  # compile sources, then link
    SHARED = "shared"
    PARTIAL = "partial"  # `-r`


class Source(NamedTuple):
    """File to be compiled; ``dialect`` is "" if the compiler determines it."""

    path: str
    position: int  # index in `Command.arguments`
    dialect: str  # "c", "c++", "fortran", or "" for assembler and other sources without variants


class Command(NamedTuple):
    """Parsed command line; ``arguments`` are all arguments without the compiler, response files expanded."""

    arguments: tuple[str, ...]
    mode: Mode
    output: str  # "" by default
    sources: tuple[Source, ...] = ()
    inputs: tuple[int, ...] = ()  # positions of linker inputs: objects, libraries, `-l…`
    values: frozenset[int] = frozenset()  # positions of values of the preceding option

    def option(self, name: str) -> str:
        """Return the last value of an option (separate or attached), "" if it is missing."""
        value = ""
        for at, word in enumerate(self.arguments):
            if at in self.values:
                continue
            if word == name and at + 1 in self.values:
                value = self.arguments[at + 1]
            elif word.startswith(name) and word != name:
                value = word[len(name) :]
        return value


def is_input_name(word: str) -> bool:
    """Check whether a word looks like a source, object or library rather than a program."""
    ending = os.path.splitext(word)[1]
    return ending in _C | _CXX | _FORTRAN | _PLAIN | {".o", ".a", ".so", ".lo", ".la"} or ".so." in word


def expand(arguments: Sequence[str], read: Callable[[str], str | None], depth: int = 0) -> tuple[str, ...]:
    """Replace ``@file`` by the arguments in the file; unreadable files remain as they are, as with GCC."""
    out: list[str] = []
    for word in arguments:
        text = read(word[1:]) if word.startswith("@") and depth < 10 else None
        out.extend(expand(split_words(text), read, depth + 1) if text is not None else [word])
    return tuple(out)


def split_words(text: str) -> list[str]:
    """Split text as a shell does."""
    import shlex  # few commands need it, and it takes a millisecond to import

    return shlex.split(text)


def stem(path: str) -> str:
    """Return the name of a file without directory and suffix."""
    return os.path.splitext(os.path.basename(path))[0]


def parse_compiler_command(arguments: Sequence[str]) -> Command:
    """Parse a command line without looking at files."""
    values: set[int] = set()
    sources: list[Source] = []
    inputs: list[int] = []
    output, language = "", ""
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word in _TAKES_VALUE and at + 1 < len(arguments):
            values.add(at + 1)
            if word == "-o":
                output = arguments[at + 1]
            elif word == "-x":
                language = arguments[at + 1]
            elif word in ("-l", "-Xlinker"):
                inputs.append(at + 1)
            at += 2
            continue
        if word.startswith("-o") and len(word) > 2 and not word.startswith(("-openmp", "-offload")):
            output = word[2:]
        elif word.startswith("-x") and len(word) > 2 and word[2:] in {*_DIALECTS, "none", "assembler"}:
            language = word[2:]
        elif word == "-" or not word.startswith("-"):
            _sort_file(word, at, language, sources, inputs)
        elif word.startswith(("-l", "-Wl,")):
            inputs.append(at)
        at += 1
    mode = _mode(arguments, values, sources, inputs)
    return Command(tuple(arguments), mode, output, tuple(sources), tuple(inputs), frozenset(values))


def _sort_file(word: str, at: int, language: str, sources: list[Source], inputs: list[int]) -> None:
    if language not in ("", "none"):
        sources.append(Source(word, at, _DIALECTS.get(language, "")))
        return
    ending = os.path.splitext(word)[1]
    if ending in _PLAIN:
        sources.append(Source(word, at, ""))
    elif ending in _C or ending in _CXX or ending in _FORTRAN:
        dialect = "c" if ending in _C else "c++" if ending in _CXX else "fortran"
        sources.append(Source(word, at, dialect))
    else:
        inputs.append(at)


def _mode(arguments: Sequence[str], values: set[int], sources: list[Source], inputs: list[int]) -> Mode:
    options = [word for at, word in enumerate(arguments) if at not in values]
    has_files = bool(sources) or any(not arguments[at].startswith("-Wl,") for at in inputs)
    if any(word in _ASKS_ONLY or word.startswith(_ASKS_ONLY_BEGINNINGS) for word in options) or not has_files:
        return Mode.ASK
    if any(not s.dialect and s.path.endswith((".h", ".hh", ".hpp", ".hxx", ".H")) for s in sources):
        return Mode.ASK  # a precompiled header
    if "-c" in options:
        return Mode.COMPILE if sources else Mode.ASK
    if "-shared" in options or "--shared" in options:
        return Mode.SHARED
    return Mode.PARTIAL if "-r" in options or "-Wl,-r" in options else Mode.LINK


def without(command: Command, flags: Sequence[str], two_word: Sequence[str]) -> list[str]:
    """Return the arguments without some options: ``flags``, and ``two_word`` with their values."""
    remaining: list[str] = []
    for at, word in enumerate(command.arguments):
        if at in command.values:
            if command.arguments[at - 1] not in two_word:
                remaining.append(word)
            continue
        attached = any(word.startswith(name) and len(word) > len(name) for name in two_word)
        if word not in flags and word not in two_word and not attached:
            remaining.append(word)
    return remaining
