"""Output files that every run must write, and the beginnings of output and files of runs up to a mark.

A file that was the same in all runs of the original must be the same again; in text, measurements may differ,
as in printed output. Of a text file that varied, the common part of the runs must be repeated. In a binary
file, bytes of a time stamp may differ; binary files that varied otherwise are not compared. HDF5 files whose
layout a setting may change are compared by their contents. Names are compared without the dates and times in
them (`without_times`).

A run that ended at a mark has printed everything up to the mark, and perhaps a little more. The beginnings of
the runs are compared, up to the last but one complete line of the shortest run; text files likewise, or
completely if they are the same in all originals. Binary files are compared up to the length of the shortest
one, if the originals agree.
"""

import re
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from hashlib import blake2b
from itertools import islice
from os import truncate
from pathlib import Path

from mpiric.host.files import contents_digest, is_file, is_hdf5
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.quoting import one_line
from mpiric.outputs.digest import file_digest
from mpiric.outputs.equivalence import (
    NONE_ACCEPTED,
    AcceptedDifferences,
    Disagreement,
    Expectation,
    learn,
)
from mpiric.outputs.time_forms import CLOCK, DAY, can_be_time, is_time_number, without_times

_LARGEST_TEXT_BYTES = 64 << 20
_MOST_LEARNED = 200  # number of text files whose lines are learned; further ones are compared as binary
_BLOCK_BYTES = 1 << 20
_MOST_PLACES = 1000  # more differences than this are not time stamps
_AROUND_BYTES = 48  # context of a difference: the length of the longest time
_TIME = re.compile(rf"{DAY}|{CLOCK}", re.IGNORECASE)
_NUMBERS = (("<I", 4), (">I", 4), ("<q", 4), (">q", 4), ("<d", 8), (">d", 8))  # format, alignment


@dataclass(frozen=True)
class FilesExpectation:
    """Expected files of a run, built by `learn_files`. Names are keys of `by_key`."""

    same: Mapping[str, bytes]  # name → digest
    texts: Mapping[str, Expectation]
    varying: frozenset[str]  # kinds of names (`kind_of_name`) of files that are not compared
    binaries: Mapping[str, Path] = field(default_factory=dict)  # files of the original

    def compare(
        self, files: Mapping[str, Path], accepted: AcceptedDifferences = NONE_ACCEPTED
    ) -> Disagreement | None:
        """Return the first disagreement of files that a run wrote: relative path → copy to read."""
        files = by_key(files)
        expected = {*self.same, *self.texts, *self.binaries}
        if wrong := missing_file(files, expected) or new_file(files, expected, self.varying):
            return wrong
        for name in sorted(expected):
            if name in self.same and file_digest(files[name]) == self.same[name]:
                continue
            if name in self.binaries:
                if differ_in_times_alone(self.binaries[name], files[name]):
                    continue
                if not accepted.rearranged or not is_hdf5(self.binaries[name]):
                    return Disagreement(
                        f"the file '{one_line(name)}' differs from the original's",
                        place=f"{name} contents",
                    )
                if wrong := self._other_contents(name, files[name]):
                    return wrong
                continue
            if wrong := self.texts[name].compare(files[name], accepted):
                return in_file(name, wrong)
        return None

    def _other_contents(self, name: str, path: Path) -> Disagreement | None:
        contents = contents_digest(path)
        if contents and contents == contents_digest(self.binaries[name]):
            return None
        why = "holds other contents than" if contents else "cannot be read by `h5dump`, to compare it with"
        return Disagreement(f"the file '{one_line(name)}' {why} the original's", place=f"{name} contents")


def missing_file(files: Collection[str], expected: Collection[str], when: str = "") -> Disagreement | None:
    """Return a disagreement if an expected file was not written."""
    name = min(set(expected) - set(files), default="")
    sentence = f"the file '{one_line(name)}' was not written{when}"
    return Disagreement(sentence, place=f"{name} missing") if name else None


def new_file(
    files: Collection[str], expected: Collection[str], varying: Collection[str]
) -> Disagreement | None:
    """Return a disagreement if a file was written that is neither expected nor of a varying kind."""
    name = min(
        (name for name in files if name not in expected and kind_of_name(name) not in varying), default=""
    )
    sentence = f"the file '{one_line(name)}' is not written by the original"
    return Disagreement(sentence, place=f"{kind_of_name(name)} new") if name else None


def in_file(name: str, wrong: Disagreement) -> Disagreement:
    """Return the disagreement of a text file."""
    sentence = f"in the file '{one_line(name)}', {wrong.sentence}"
    return Disagreement(sentence, wrong.line, f"{name} {wrong.place}")


def files_in(directory: Path) -> dict[str, Path]:
    """Return the files of a directory, without links, by relative path."""
    return {
        str(path.relative_to(directory)): path
        for path in sorted(directory.rglob("*"))
        if is_file(path) and not path.is_symlink()
    }


def learn_files(directories: Sequence[Path], ignored: "re.Pattern[str] | None" = None) -> FilesExpectation:
    """Learn from the directories with the files that at least two runs of the original wrote.

    Lines of text files in which ``ignored`` matches are not compared.
    """
    if len(directories) < 2:
        raise MpiricError("at least two runs of the original are needed to learn which files vary")
    runs, everywhere, varying = common_files(directories)
    same: dict[str, bytes] = {}
    texts: dict[str, Expectation] = {}
    binaries: dict[str, Path] = {}
    for name in everywhere:
        hashes = {file_digest(run[name]) for run in runs}
        if len(hashes) == 1:
            same[name] = next(iter(hashes))
        if len(texts) < _MOST_LEARNED and all(is_text(run[name]) for run in runs):
            texts[name] = learn([run[name] for run in runs], ignored)
        elif len(hashes) == 1 or all(differ_in_times_alone(runs[0][name], run[name]) for run in runs[1:]):
            binaries[name] = runs[0][name]
        else:
            varying.add(kind_of_name(name))
    return FilesExpectation(same, texts, frozenset(varying), binaries)


def common_files(directories: Sequence[Path]) -> tuple[list[dict[str, Path]], list[str], set[str]]:
    """Return the files of each run, the names that all runs have, and the kinds of the other names."""
    runs = [by_key(files_in(directory)) for directory in directories]
    everywhere = set.intersection(*map(set, runs)) if runs else set()
    varying = {kind_of_name(name) for run in runs for name in run if name not in everywhere}
    return runs, sorted(everywhere), varying


def by_key(files: Mapping[str, Path]) -> dict[str, Path]:
    """Return files by their names without times; equal names are numbered."""
    keyed: dict[str, Path] = {}
    for name in sorted(files):
        key = without_times(name)
        number = next(number for number in range(1, len(files) + 1) if _numbered(key, number) not in keyed)
        keyed[_numbered(key, number)] = files[name]
    return keyed


def _numbered(key: str, number: int) -> str:
    return key if number == 1 else f"{key} ({number})"


def kind_of_name(name: str) -> str:
    """Return a name without its digits: files named by process or date are of one kind."""
    return re.sub(r"\d+", "#", name)


def is_text(path: Path) -> bool:
    """Return whether a file is text, and small enough to be compared as text."""
    if path.stat().st_size > _LARGEST_TEXT_BYTES:
        return False
    with path.open("rb") as file:
        return b"\0" not in file.read(1 << 16)


def differ_in_times_alone(first: Path, second: Path) -> bool:
    """Return whether all differing bytes belong to times: in text, or as seconds since 1970."""
    if first.stat().st_size != second.stat().st_size:
        return False
    with first.open("rb") as one, second.open("rb") as other:
        for number, (begin, end) in enumerate(_differences(first, second)):
            offset = max(0, begin - _AROUND_BYTES) // 8 * 8
            one.seek(offset)
            other.seek(offset)
            windows = [file.read(end + _AROUND_BYTES - offset) for file in (one, other)]
            span = begin - offset, end - offset
            if number == _MOST_PLACES or not (
                all(
                    any(
                        match.start() <= span[0] and span[1] <= match.end() and can_be_time(match[0])
                        for match in _TIME.finditer(re.sub(rb"[^\x20-\x7e]", b"\n", window).decode("ascii"))
                    )
                    for window in windows
                )
                or _in_number(windows, span)
            ):
                return False
    return True


def _differences(first: Path, second: Path) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each sequence of differing bytes."""
    offset = 0
    with first.open("rb") as one, second.open("rb") as other:
        while block := one.read(_BLOCK_BYTES):
            other_block = other.read(_BLOCK_BYTES)
            if block != other_block:
                begin = None
                for at, (a, b) in enumerate(zip(block, other_block, strict=True)):
                    if a != b and begin is None:
                        begin = at
                    elif a == b and begin is not None:
                        yield offset + begin, offset + at
                        begin = None
                if begin is not None:
                    yield offset + begin, offset + len(block)
            offset += len(block)


def _in_number(windows: list[bytes], span: tuple[int, int]) -> bool:
    for form, alignment in _NUMBERS:
        size = struct.calcsize(form)
        for at in range(max(0, span[1] - size), span[0] + 1):
            if at % alignment == 0 and all(
                at + size <= len(window) and is_time_number(struct.unpack_from(form, window, at)[0])
                for window in windows
            ):
                return True
    return False


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
