"""Output files in the working directory that every run must write, and their expected contents.

A file that was the same in all runs of the original must be the same again; in text, measurements may differ,
as in printed output. Of a text file that varied, the common part of the runs must be repeated. In a binary
file, bytes of a time stamp may differ; binary files that varied otherwise are not compared. HDF5 files whose
layout a setting may change are compared by their contents. Names are compared without the dates and times in
them (`without_times`).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mpiric.host.facts.hdf5_contents import contents_digest, is_hdf5
from mpiric.host.files import is_file
from mpiric.model.errors import MpiricError
from mpiric.tuning.equivalence.binary_times import differ_in_times_alone
from mpiric.tuning.equivalence.output_digest import file_digest
from mpiric.tuning.equivalence.output_equivalence import Disagreement, Expectation, learn
from mpiric.tuning.equivalence.time_forms import without_times

_LARGEST_TEXT_BYTES = 64 << 20
_MOST_LEARNED = 200  # number of text files whose lines are learned; further ones are compared as binary

Stamps = Mapping[str, tuple[int, int]]  # relative path → (size, modification time in ns)


@dataclass(frozen=True)
class FilesExpectation:
    """Expected files of a run, built by `learn_files`. Names are keys of `by_key`."""

    same: Mapping[str, bytes]  # name → digest
    texts: Mapping[str, Expectation]
    varying: frozenset[str]  # kinds of names (`kind_of_name`) of files that are not compared
    binaries: Mapping[str, Path] = field(default_factory=dict)  # files of the original

    def compare(
        self,
        directory: Path,
        before: Stamps | None = None,
        *,
        rounding: bool = False,
        tolerance: float = 1e-9,
        settings: Collection[str] = (),
    ) -> Disagreement | None:
        """Return the first disagreement of a run in ``directory``, or None.

        ``rounding``, ``tolerance`` and ``settings`` as in `Expectation.compare`.
        """
        files = written(directory, before or {})
        return self.compare_files(files, rounding=rounding, tolerance=tolerance, settings=settings)

    def compare_files(
        self,
        files: Mapping[str, Path],
        *,
        rounding: bool = False,
        tolerance: float = 1e-9,
        settings: Collection[str] = (),
        rearranged: bool = False,
    ) -> Disagreement | None:
        """Return the first disagreement of files that a run wrote: relative path → copy to read.

        ``rearranged``: HDF5 files may have another layout of the same contents.
        """
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
                if not rearranged or not is_hdf5(self.binaries[name]):
                    return Disagreement(
                        f"the file '{printable_name(name)}' differs from the original's",
                        place=f"{name} contents",
                    )
                if wrong := self._other_contents(name, files[name]):
                    return wrong
                continue
            wrong = self.texts[name].compare(
                files[name], rounding=rounding, tolerance=tolerance, settings=settings
            )
            if wrong:
                return in_file(name, wrong)
        return None

    def _other_contents(self, name: str, path: Path) -> Disagreement | None:
        contents = contents_digest(path)
        if contents and contents == contents_digest(self.binaries[name]):
            return None
        why = "holds other contents than" if contents else "cannot be read by `h5dump`, to compare it with"
        return Disagreement(
            f"the file '{printable_name(name)}' {why} the original's", place=f"{name} contents"
        )


def missing_file(files: Collection[str], expected: Collection[str], when: str = "") -> Disagreement | None:
    """Return a disagreement if an expected file was not written."""
    name = min(set(expected) - set(files), default="")
    sentence = f"the file '{printable_name(name)}' was not written{when}"
    return Disagreement(sentence, place=f"{name} missing") if name else None


def new_file(
    files: Collection[str], expected: Collection[str], varying: Collection[str]
) -> Disagreement | None:
    """Return a disagreement if a file was written that is neither expected nor of a varying kind."""
    name = min(
        (name for name in files if name not in expected and kind_of_name(name) not in varying), default=""
    )
    sentence = f"the file '{printable_name(name)}' is none the original writes"
    return Disagreement(sentence, place=f"{kind_of_name(name)} new") if name else None


def in_file(name: str, wrong: Disagreement) -> Disagreement:
    """Return the disagreement of a text file."""
    sentence = f"in the file '{printable_name(name)}', {wrong.sentence}"
    return Disagreement(sentence, wrong.line, f"{name} {wrong.place}")


def stamps(directory: Path) -> Stamps:
    """Return size and time of every file before a run, so that unchanged inputs need not be read."""
    return {name: _stamp(path) for name, path in _files(directory).items()}


def written(directory: Path, before: Stamps) -> dict[str, Path]:
    """Return the files that a run created or changed, by relative path."""
    return {name: path for name, path in _files(directory).items() if before.get(name) != _stamp(path)}


def learn_files(
    directories: Sequence[Path], before: Sequence[Stamps] = (), ignored: "re.Pattern[str] | None" = None
) -> FilesExpectation:
    """Learn from the working directories of at least two runs of the original.

    ``before`` has the stamps of each directory from before its run; without them all files are learned. Lines
    of text files in which ``ignored`` matches are not compared.
    """
    if len(directories) < 2:
        raise MpiricError("at least two runs of the original are needed to learn which files vary")
    stamped = list(before) or [{} for _ in directories]
    runs = [
        by_key(written(directory, earlier)) for directory, earlier in zip(directories, stamped, strict=True)
    ]
    everywhere = set.intersection(*(set(run) for run in runs))
    varying = {kind_of_name(name) for run in runs for name in run if name not in everywhere}
    same: dict[str, bytes] = {}
    texts: dict[str, Expectation] = {}
    binaries: dict[str, Path] = {}
    for name in sorted(everywhere):
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


def _files(directory: Path) -> dict[str, Path]:
    return {
        str(path.relative_to(directory)): path
        for path in sorted(directory.rglob("*"))
        if is_file(path) and not path.is_symlink()
    }


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def kind_of_name(name: str) -> str:
    """Return a name without its digits: files named by process or date are of one kind."""
    return re.sub(r"\d+", "#", name)


def is_text(path: Path) -> bool:
    """Return whether a file is text, and small enough to be compared as text."""
    if path.stat().st_size > _LARGEST_TEXT_BYTES:
        return False
    with path.open("rb") as file:
        return b"\0" not in file.read(1 << 16)


def printable_name(name: str) -> str:
    """Return the name of a file for a terminal."""
    return "".join(char if char.isprintable() else "?" for char in name)
