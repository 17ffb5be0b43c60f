"""What a whole run printed and wrote, held against whole runs of the original."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mpiric.tuning.equivalence.binary_times import differ_in_times_alone
from mpiric.tuning.equivalence.file_digest import file_digest
from mpiric.tuning.equivalence.output_equivalence import learn
from mpiric.tuning.equivalence.output_files import by_key, is_text, printable_name


@dataclass(frozen=True)
class WholeOutput:
    """What a run left at its end; ``files`` by their names in the working directory."""

    stdout: Path | None  # None: not kept
    files: Mapping[str, Path] = field(default_factory=dict)


def whole_disagreement(
    references: Sequence[WholeOutput],
    found: WholeOutput,
    *,
    rounding: bool = False,
    settings: tuple[str, ...] = (),
) -> str:
    """What a run has otherwise than whole runs of the original, in a sentence; "" when nothing.

    One reference tells nothing of what varies by itself: a disagreement with it alone is none yet.
    Compared is what all references have.
    """
    printed = [reference.stdout for reference in references if reference.stdout is not None]
    if printed and found.stdout is not None:
        different = learn(_at_least_two(printed)).compare(found.stdout, rounding=rounding, settings=settings)
        if different is not None:
            return str(different)
    keyed, files = [by_key(reference.files) for reference in references], by_key(found.files)
    for name in sorted(set.intersection(*map(set, keyed))):
        runs = [files_of_run[name] for files_of_run in keyed]
        if name not in files:
            return f"the file '{printable_name(name)}' was not written"
        if reason := _file_disagreement(runs, files[name], rounding=rounding, settings=settings):
            return f"the file '{printable_name(name)}' {reason}"
    return ""


def _file_disagreement(
    runs: Sequence[Path], found: Path, *, rounding: bool, settings: tuple[str, ...]
) -> str:
    hashes = {file_digest(path) for path in runs}
    if file_digest(found) in hashes:
        return ""
    if all(is_text(path) for path in (*runs, found)):
        different = learn(_at_least_two(runs)).compare(found, rounding=rounding, settings=settings)
        return f"differs: {different.sentence}" if different is not None else ""
    if len(hashes) > 1 or differ_in_times_alone(runs[0], found):
        return ""  # it varies by itself
    return "differs from the original's"


def _at_least_two(paths: Sequence[Path]) -> list[Path]:
    return [*paths] if len(paths) > 1 else [*paths, *paths]
