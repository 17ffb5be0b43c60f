"""The linker's inputs on a command line: which word names which file; words rewritten for another link."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpiric.build.command import Command

Rewrite = Callable[[str], Sequence[str]]  # one linker input word → what stands in its place


def linker_words(words: Sequence[str]) -> list[str]:
    """What the compiler hands to the linker as it is: ``-Wl,a,b`` and ``-Xlinker a``."""
    found: list[str] = []
    for at, word in enumerate(words):
        if word.startswith("-Wl,"):
            found.extend(word[4:].split(","))
        elif at and words[at - 1] == "-Xlinker":
            found.append(word)
    return found


def wrapped_symbols(words: Sequence[str]) -> list[str]:
    """Symbols given to the linker's ``--wrap``."""
    handed = linker_words(words)
    found: list[str] = []
    for at, word in enumerate(handed):
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and name == "wrap":
            found.append(value if equals else handed[at + 1] if at + 1 < len(handed) else "")
    return [name for name in found if name]


def without_wrap(words: Sequence[str]) -> list[str]:
    """The words without ``--wrap``: it was applied to the variants already."""
    kept: list[str] = []
    for word in words:
        if not word.startswith("-Wl,"):
            kept.append(word)
            continue
        parts = word[4:].split(",")
        left = [
            part
            for at, part in enumerate(parts)
            if part.lstrip("-").partition("=")[0] != "wrap"
            and not (at and parts[at - 1].lstrip("-") == "wrap")
        ]
        if left:
            kept.append("-Wl," + ",".join(left))
    return kept


def rewritten(command: Command, rewrite: Rewrite) -> list[str]:
    """All words, the linker's inputs put through ``rewrite``; an emptied ``-Wl,`` disappears."""
    inputs = set(command.inputs)
    out: list[str] = []
    for at, word in enumerate(command.words):
        if at not in inputs:
            out.append(word)
        elif word.startswith("-Wl,"):
            parts = [new for part in word[4:].split(",") for new in rewrite(part)]
            out.extend(["-Wl," + ",".join(parts)] if parts else [])
        elif at in command.values:  # after -Xlinker or -l
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
    """Recognises the words that name some files: by path, or by ``-l`` for archives."""

    root: Path
    files: frozenset[Path]  # resolved

    @classmethod
    def of(cls, root: Path, files: Iterable[Path]) -> "FileWords":
        """Recognise these files, given relative to ``root`` or absolute."""
        return cls(root, frozenset((root / path).resolve() for path in files))

    def file_of(self, word: str) -> Path | None:
        """The file a word names, None when it names none of these."""
        if word.startswith("-l"):
            name = word[3:] if word.startswith("-l:") else f"lib{word[2:]}.a"
            return next((path for path in sorted(self.files) if path.name == name), None)
        if word.startswith("-") or not word:
            return None
        path = (self.root / word).resolve()
        return path if path in self.files else None
