"""Linker inputs on a command line: recognition of files, and replacement for another link."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from mpiric.build.command import Command
from mpiric.model.dataclass import dataclass

Rewrite = Callable[[str], Sequence[str]]  # linker input → its replacements


def linker_words(arguments: Sequence[str]) -> list[str]:
    """Return the arguments that the compiler passes to the linker: ``-Wl,a,b`` and ``-Xlinker a``."""
    passed: list[str] = []
    for at, word in enumerate(arguments):
        if word.startswith("-Wl,"):
            passed.extend(word[4:].split(","))
        elif at and arguments[at - 1] == "-Xlinker":
            passed.append(word)
    return passed


def wrapped_symbols(arguments: Sequence[str]) -> list[str]:
    """Return the symbols of the linker's ``--wrap``."""
    handed = linker_words(arguments)
    wrapped: list[str] = []
    for at, word in enumerate(handed):
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and name == "wrap":
            wrapped.append(value if equals else handed[at + 1] if at + 1 < len(handed) else "")
    return [name for name in wrapped if name]


def without_wrap(arguments: Sequence[str]) -> list[str]:
    """Return the arguments without ``--wrap``, which has been applied to the variants already."""
    remaining: list[str] = []
    for word in arguments:
        if not word.startswith("-Wl,"):
            remaining.append(word)
            continue
        parts = word[4:].split(",")
        parts = [
            part
            for at, part in enumerate(parts)
            if part.lstrip("-").partition("=")[0] != "wrap"
            and not (at and parts[at - 1].lstrip("-") == "wrap")
        ]
        if parts:
            remaining.append("-Wl," + ",".join(parts))
    return remaining


def rewritten(command: Command, rewrite: Rewrite) -> list[str]:
    """Apply ``rewrite`` to the linker inputs among the arguments; an empty ``-Wl,`` is dropped."""
    inputs = set(command.inputs)
    out: list[str] = []
    for at, word in enumerate(command.arguments):
        if at not in inputs:
            out.append(word)
        elif word.startswith("-Wl,"):
            parts = [new for part in word[4:].split(",") for new in rewrite(part)]
            out.extend(["-Wl," + ",".join(parts)] if parts else [])
        elif at in command.values:  # value of -Xlinker or -l
            flag = out.pop()
            if flag == "-l":
                out.extend(rewrite(f"-l{word}"))
            else:
                out.extend(new for part in rewrite(word) for new in (flag, part))
        else:
            out.extend(rewrite(word))
    return out


@dataclass(frozen=True)
class FileWords:
    """Recogniser of arguments that refer to certain files, by path or (archives) by ``-l``."""

    root: Path
    files: frozenset[Path]  # resolved paths

    @classmethod
    def of(cls, root: Path, files: Iterable[Path]) -> "FileWords":
        """Create a recogniser of these files, relative to ``root`` or absolute."""
        return cls(root, frozenset((root / path).resolve() for path in files))

    def file_of(self, word: str) -> Path | None:
        """Return the file that a word refers to, None if it is not among these."""
        if word.startswith("-l"):
            name = word[3:] if word.startswith("-l:") else f"lib{word[2:]}.a"
            return next((path for path in sorted(self.files) if path.name == name), None)
        if word.startswith("-") or not word:
            return None
        path = (self.root / word).resolve()
        return path if path in self.files else None
