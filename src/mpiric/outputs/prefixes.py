"""Comparison of the outputs of runs that ended at a mark.

A run has printed everything up to the mark, and perhaps a little more. The beginnings of the runs are
compared, up to the last but one complete line of the shortest run; text files likewise, or completely if they
are the same in all originals. Binary files are compared up to the length of the shortest one, if the
originals agree.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from os import truncate
from pathlib import Path

from mpiric.model.dataclass import dataclass
from mpiric.model.quoting import one_line
from mpiric.outputs.equivalence import (
    NONE_ACCEPTED,
    AcceptedDifferences,
    Disagreement,
    Expectation,
    learn,
)
from mpiric.outputs.files import (
    by_key,
    common_files,
    in_file,
    is_text,
    kind_of_name,
    missing_file,
    new_file,
)

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class LinesExpectation:
    """Expected first lines of a text."""

    lines: int
    expected: Expectation

    def compare(self, path: Path, accepted: AcceptedDifferences) -> Disagreement | None:
        """Return the first disagreement, or None."""
        count = self.lines - self.expected.most_naming(accepted.settings)
        text = _first_lines(path, count, without=accepted.settings)
        if (printed := text.count("\n")) < count:
            sentence = f"{printed} lines before the step marker, where the original prints {count}"
            return Disagreement(sentence, place="lines before the mark")
        return self.expected.compare(text, accepted)


@dataclass(frozen=True)
class PrefixExpectation:
    """Expected output and files of every run up to the mark, built by `learn_prefixes`."""

    stdout: LinesExpectation
    texts: Mapping[str, LinesExpectation]
    bytes: Mapping[str, tuple[int, str]]  # name → length and hash of the compared part
    varying: frozenset[str]  # kinds of names (`kind_of_name`) of files that are not compared

    def compare(
        self, stdout: Path, files: Mapping[str, Path], accepted: AcceptedDifferences = NONE_ACCEPTED
    ) -> Disagreement | None:
        """Return the first disagreement of a run with these files (relative path → copy to read), or None."""
        files = by_key(files)
        if wrong := self.stdout.compare(stdout, accepted):
            return wrong
        expected = {*self.texts, *self.bytes}
        wrong = missing_file(files, expected, " before the mark") or new_file(files, expected, self.varying)
        if wrong:
            return wrong
        for name, lines in self.texts.items():
            if wrong := lines.compare(files[name], accepted):
                return in_file(name, wrong)
        for name, (length, content) in self.bytes.items():
            if _hash(files[name], length) != content:
                sentence = f"the file '{one_line(name)}' begins differently from the original's"
                return Disagreement(sentence, place=f"{name} contents")
        return None


def learn_prefixes(
    stdouts: Sequence[Path], directories: Sequence[Path], ignored: "re.Pattern[str] | None" = None
) -> PrefixExpectation:
    """Learn from at least two runs of the original that ended at the mark; without directories no files."""
    runs, everywhere, varying = common_files(directories)
    texts: dict[str, LinesExpectation] = {}
    contents: dict[str, tuple[int, str]] = {}
    for name in everywhere:
        paths = [run[name] for run in runs]
        length = min(path.stat().st_size for path in paths)
        hashes = {_hash(path, length) for path in paths}
        if all(is_text(path) for path in paths):
            is_same = len(hashes) == 1 and len({path.stat().st_size for path in paths}) == 1
            texts[name] = _learn_lines(paths, 0 if is_same else 1, ignored)
        elif len(hashes) == 1:
            contents[name] = length, hashes.pop()
        else:
            varying.add(kind_of_name(name))
    return PrefixExpectation(_learn_lines(stdouts, 1, ignored), texts, contents, frozenset(varying))


def keep_lines(path: Path, lines: int) -> None:
    """Truncate a text file to its first lines."""
    with path.open("rb") as file:
        length = sum(len(line) for line in islice(file, lines))
    truncate(path, length)


def _learn_lines(paths: Sequence[Path], doubtful: int, ignored: "re.Pattern[str] | None") -> LinesExpectation:
    lines = max(0, min(_complete_lines(path) for path in paths) - doubtful)
    return LinesExpectation(lines, learn([_first_lines(path, lines) for path in paths], ignored))


def _complete_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK_BYTES), b""))


def _first_lines(path: Path, lines: int, without: Collection[str] = ()) -> str:
    """Return the first complete lines, not counting lines that name one of the variables ``without``."""
    names = [name.encode() for name in without]
    with path.open("rb") as file:
        counted = (line for line in file if not any(name in line for name in names))
        complete = (line for line in islice(counted, lines) if line.endswith(b"\n"))
        return b"".join(complete).decode(errors="replace")


def _hash(path: Path, length: int) -> str:
    state = blake2b(digest_size=16)
    with path.open("rb") as file:
        while length and (block := file.read(min(length, _BLOCK_BYTES))):
            state.update(block)
            length -= len(block)
    return state.hexdigest() if not length else ""
