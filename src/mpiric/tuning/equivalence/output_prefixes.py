"""Outputs of runs that ended at a mark: what of them must agree, and how far.

All that was printed before the mark is there, and perhaps a little of what came after it: the runs have their
beginnings in common, to the last whole line but one of the shortest. Files likewise, to the last line where
they are the same; of one that is no text, the bytes that the shortest has, when the originals agree on them.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from os import truncate
from pathlib import Path

from mpiric.tuning.equivalence.output_equivalence import Disagreement, Expectation, learn
from mpiric.tuning.equivalence.output_files import by_key, is_text, kind_of_name, printable_name, written

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class LinesExpectation:
    """The first lines of a text, as every run has them."""

    lines: int
    expected: Expectation

    def compare(self, path: Path, *, rounding: bool, settings: Collection[str]) -> Disagreement | None:
        """The first disagreement, or None."""
        due = self.lines - self.expected.most_naming(settings)
        text = _first_lines(path, due, without=settings)
        if (printed := text.count("\n")) < due:
            sentence = f"{printed} lines before the mark, where the original prints {due}"
            return Disagreement(sentence, place="lines before the mark")
        return self.expected.compare(text, rounding=rounding, settings=settings)


@dataclass(frozen=True)
class PrefixExpectation:
    """What every run must have printed and written when it ends at the mark. Made by `learn_prefixes`."""

    stdout: LinesExpectation
    texts: Mapping[str, LinesExpectation]
    bytes: Mapping[str, tuple[int, str]]  # name → length of what is compared, its hash
    others: frozenset[str]  # names with their digits left out, of files that are not looked at

    def compare(
        self,
        stdout: Path,
        found: Mapping[str, Path],
        *,
        rounding: bool = False,
        settings: Collection[str] = (),
    ) -> Disagreement | None:
        """The first disagreement of a run that left the files ``found``, by name; or None.

        ``rounding`` and ``settings`` as in `Expectation.compare`.
        """
        found = by_key(found)
        if wrong := self.stdout.compare(stdout, rounding=rounding, settings=settings):
            return wrong
        for name in sorted({*self.texts, *self.bytes}):
            if name not in found:
                sentence = f"the file '{printable_name(name)}' was not written before the mark"
                return Disagreement(sentence, place=f"{name} missing")
        known = {*self.texts, *self.bytes}
        if new := sorted(name for name in found.keys() - known if kind_of_name(name) not in self.others):
            sentence = f"the file '{printable_name(new[0])}' is none the original writes"
            return Disagreement(sentence, place=f"{kind_of_name(new[0])} new")
        for name, lines in self.texts.items():
            if wrong := lines.compare(found[name], rounding=rounding, settings=settings):
                sentence = f"in the file '{printable_name(name)}', {wrong.sentence}"
                return Disagreement(sentence, wrong.line, f"{name} {wrong.place}")
        for name, (length, content) in self.bytes.items():
            if _hash(found[name], length) != content:
                sentence = f"the file '{printable_name(name)}' begins otherwise than the original's"
                return Disagreement(sentence, place=f"{name} contents")
        return None


def learn_prefixes(
    stdouts: Sequence[Path], directories: Sequence[Path], ignored: "re.Pattern[str] | None" = None
) -> PrefixExpectation:
    """Learn from runs of the original, at least two, that ended at the mark; without directories no files."""
    runs = [by_key(written(directory, {})) for directory in directories]
    everywhere = set.intersection(*(set(run) for run in runs)) if runs else set()
    others = {kind_of_name(name) for run in runs for name in run if name not in everywhere}
    texts: dict[str, LinesExpectation] = {}
    contents: dict[str, tuple[int, str]] = {}
    for name in sorted(everywhere):
        paths = [run[name] for run in runs]
        length = min(path.stat().st_size for path in paths)
        hashes = {_hash(path, length) for path in paths}
        if all(is_text(path) for path in paths):
            is_whole = len(hashes) == 1 and len({path.stat().st_size for path in paths}) == 1
            texts[name] = _learn_lines(paths, 0 if is_whole else 1, ignored)
        elif len(hashes) == 1:
            contents[name] = length, hashes.pop()
        else:
            others.add(kind_of_name(name))
    return PrefixExpectation(_learn_lines(stdouts, 1, ignored), texts, contents, frozenset(others))


def keep_lines(path: Path, lines: int) -> None:
    """Cut a text behind so many lines."""
    with path.open("rb") as file:
        length = sum(len(line) for line in islice(file, lines))
    truncate(path, length)


def _learn_lines(paths: Sequence[Path], in_doubt: int, ignored: "re.Pattern[str] | None") -> LinesExpectation:
    lines = max(0, min(_whole_lines(path) for path in paths) - in_doubt)
    return LinesExpectation(lines, learn([_first_lines(path, lines) for path in paths], ignored))


def _whole_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK_BYTES), b""))


def _first_lines(path: Path, lines: int, without: Collection[str] = ()) -> str:
    """The first whole lines, less those that name one of the variables ``without``."""
    named = [name.encode() for name in without]
    with path.open("rb") as file:
        counted = (line for line in file if not any(name in line for name in named))
        whole = (line for line in islice(counted, lines) if line.endswith(b"\n"))
        return b"".join(whole).decode(errors="replace")


def _hash(path: Path, length: int) -> str:
    state = blake2b(digest_size=16)
    with path.open("rb") as file:
        while length and (block := file.read(min(length, _BLOCK_BYTES))):
            state.update(block)
            length -= len(block)
    return state.hexdigest() if not length else ""
