"""Output files of the working directory: which must come out again, and what must be in them.

A file that was the same in all runs of the original must be the same again; where it is text, a difference in
what looks like a measurement is let pass, as in printed output. A text file that varied is held to what its
runs have in common. Of a binary file, bytes that belong to a time stamp may differ; others that varied are
not looked at. An HDF5 file that a setting may arrange otherwise is held to its contents. Names are compared
without the dates and times in them (`without_times`).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mpiric.host.facts.hdf5_contents import contents_digest, is_hdf5
from mpiric.host.files import is_file
from mpiric.model.errors import MpiricError
from mpiric.tuning.equivalence.binary_times import differ_in_times_alone
from mpiric.tuning.equivalence.file_digest import file_digest
from mpiric.tuning.equivalence.output_equivalence import Disagreement, Expectation, learn
from mpiric.tuning.equivalence.time_forms import without_times

_LARGEST_TEXT_BYTES = 64 << 20
_MOST_LEARNED = 200  # text files whose lines are learned; of more, the same ones are held to their hash

Stamps = Mapping[str, tuple[int, int]]  # relative path → (size, modification time in ns)


@dataclass(frozen=True)
class FilesExpectation:
    """Expected files of a run, made by `learn_files`. Names are keys of `by_key`."""

    same: Mapping[str, bytes]  # name → digest
    texts: Mapping[str, Expectation]
    varying: frozenset[str]  # names with their digits left out, of files that are not looked at
    binaries: Mapping[str, Path] = field(default_factory=dict)  # the original's, while they are kept

    def compare(
        self,
        directory: Path,
        before: Stamps | None = None,
        *,
        rounding: bool = False,
        tolerance: float = 1e-9,
        settings: Collection[str] = (),
    ) -> Disagreement | None:
        """The first disagreement of a run that left its files in ``directory``, or None.

        ``rounding``, ``tolerance`` and ``settings`` as in `Expectation.compare`.
        """
        found = written(directory, before or {})
        return self.compare_files(found, rounding=rounding, tolerance=tolerance, settings=settings)

    def compare_files(
        self,
        found: Mapping[str, Path],
        *,
        rounding: bool = False,
        tolerance: float = 1e-9,
        settings: Collection[str] = (),
        rearranged: bool = False,
    ) -> Disagreement | None:
        """The same of files that a run made or changed: relative path → where to read it.

        ``rearranged``: HDF5 files need to hold the same, not be the same.
        """
        found = by_key(found)
        expected = {*self.same, *self.texts, *self.binaries}
        if missing := sorted(expected - found.keys()):
            return Disagreement(
                f"the file '{printable_name(missing[0])}' was not written", place=f"{missing[0]} missing"
            )
        unknown = sorted(found.keys() - expected)
        if new := [name for name in unknown if kind_of_name(name) not in self.varying]:
            return Disagreement(
                f"the file '{printable_name(new[0])}' is none the original writes",
                place=f"{kind_of_name(new[0])} new",
            )
        for name in sorted(expected):
            if name in self.same and file_digest(found[name]) == self.same[name]:
                continue
            if name in self.binaries:
                if differ_in_times_alone(self.binaries[name], found[name]):
                    continue
                if not rearranged or not is_hdf5(self.binaries[name]):
                    return Disagreement(
                        f"the file '{printable_name(name)}' differs from the original's",
                        place=f"{name} contents",
                    )
                if wrong := self._other_contents(name, found[name]):
                    return wrong
                continue
            wrong = self.texts[name].compare(
                found[name], rounding=rounding, tolerance=tolerance, settings=settings
            )
            if wrong:
                sentence = f"in the file '{printable_name(name)}', {wrong.sentence}"
                return Disagreement(sentence, wrong.line, f"{name} {wrong.place}")
        return None

    def _other_contents(self, name: str, found: Path) -> Disagreement | None:
        contents = contents_digest(found)
        if contents and contents == contents_digest(self.binaries[name]):
            return None
        why = "holds other contents than" if contents else "cannot be read by `h5dump`, to compare it with"
        return Disagreement(
            f"the file '{printable_name(name)}' {why} the original's", place=f"{name} contents"
        )


def stamps(directory: Path) -> Stamps:
    """Size and time of every file before a run, so that inputs that stay untouched need not be read."""
    return {name: _stamp(path) for name, path in _files(directory).items()}


def written(directory: Path, before: Stamps) -> dict[str, Path]:
    """Files that a run made or changed, by relative path."""
    return {name: path for name, path in _files(directory).items() if before.get(name) != _stamp(path)}


def learn_files(
    directories: Sequence[Path], before: Sequence[Stamps] = (), ignored: "re.Pattern[str] | None" = None
) -> FilesExpectation:
    """Learn from the working directories of at least two runs of the original.

    Lines of text files in which ``ignored`` matches are not compared.

    ``before`` holds the stamps of each directory from before its run; without them every file counts.
    """
    if len(directories) < 2:
        raise MpiricError("at least two runs of the original are needed to learn what varies by itself")
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
    """Files by their names without times; where several have one name then, numbered in their order."""
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
    """A name without its digits: files named by process or date are of one kind."""
    return re.sub(r"\d+", "#", name)


def is_text(path: Path) -> bool:
    """Whether a file is text, and small enough to be read as such."""
    if path.stat().st_size > _LARGEST_TEXT_BYTES:
        return False
    with path.open("rb") as file:
        return b"\0" not in file.read(1 << 16)


def printable_name(name: str) -> str:
    """A file's name as it can be printed."""
    return "".join(char if char.isprintable() else "?" for char in name)
