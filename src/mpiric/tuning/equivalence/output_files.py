"""Output files in the working directory that every run must write, and their expected contents.

A file that was the same in all runs of the original must be the same again; in text, measurements may differ,
as in printed output. Of a text file that varied, the common part of the runs must be repeated. In a binary
file, bytes of a time stamp may differ; binary files that varied otherwise are not compared. HDF5 files whose
layout a setting may change are compared by their contents. Names are compared without the dates and times in
them (`without_times`).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from mpiric.host.facts.hdf5_contents import contents_digest, is_hdf5
from mpiric.host.files import is_file
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.quoting import one_line
from mpiric.tuning.equivalence.binary_times import differ_in_times_alone
from mpiric.tuning.equivalence.output_digest import file_digest
from mpiric.tuning.equivalence.output_equivalence import Disagreement, Expectation, learn
from mpiric.tuning.equivalence.time_forms import without_times

_LARGEST_TEXT_BYTES = 64 << 20
_MOST_LEARNED = 200  # number of text files whose lines are learned; further ones are compared as binary


@dataclass(frozen=True)
class FilesExpectation:
    """Expected files of a run, built by `learn_files`. Names are keys of `by_key`."""

    same: Mapping[str, bytes]  # name → digest
    texts: Mapping[str, Expectation]
    varying: frozenset[str]  # kinds of names (`kind_of_name`) of files that are not compared
    binaries: Mapping[str, Path] = field(default_factory=dict)  # files of the original

    def compare(
        self,
        files: Mapping[str, Path],
        *,
        rounding: bool = False,
        settings: Collection[str] = (),
        rearranged: bool = False,
    ) -> Disagreement | None:
        """Return the first disagreement of files that a run wrote: relative path → copy to read.

        ``rearranged``: HDF5 files may have another layout of the same contents. ``rounding`` and ``settings``
        as in `Expectation.compare`.
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
                        f"the file '{one_line(name)}' differs from the original's",
                        place=f"{name} contents",
                    )
                if wrong := self._other_contents(name, files[name]):
                    return wrong
                continue
            wrong = self.texts[name].compare(files[name], rounding=rounding, settings=settings)
            if wrong:
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
