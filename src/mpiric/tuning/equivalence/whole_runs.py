"""Comparison of a complete run with complete runs of the original."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from mpiric.model.dataclass import dataclass
from mpiric.model.quoting import one_line
from mpiric.tuning.equivalence.binary_times import differ_in_times_alone
from mpiric.tuning.equivalence.output_digest import file_digest
from mpiric.tuning.equivalence.output_equivalence import learn
from mpiric.tuning.equivalence.output_files import by_key, is_text


@dataclass(frozen=True)
class WholeOutput:
    """Output of a complete run."""

    stdout: Path | None  # None if it was not stored
    files: Mapping[str, Path] = field(default_factory=dict)  # relative path → copy to read


def whole_disagreement(
    references: Sequence[WholeOutput],
    run: WholeOutput,
    *,
    rounding: bool = False,
    settings: tuple[str, ...] = (),
) -> str:
    """Return the first difference from the references in a sentence; "" if there is none.

    Outputs and files that all references have are compared. With one reference, output that varies between
    runs of the original is reported as well.
    """
    printed = [reference.stdout for reference in references if reference.stdout is not None]
    if printed and run.stdout is not None:
        different = learn(_at_least_two(printed)).compare(run.stdout, rounding=rounding, settings=settings)
        if different is not None:
            return str(different)
    keyed, files = [by_key(reference.files) for reference in references], by_key(run.files)
    for name in sorted(set.intersection(*map(set, keyed))):
        originals = [reference_files[name] for reference_files in keyed]
        if name not in files:
            return f"the file '{one_line(name)}' was not written"
        if reason := _file_disagreement(originals, files[name], rounding=rounding, settings=settings):
            return f"the file '{one_line(name)}' {reason}"
    return ""


def _file_disagreement(
    originals: Sequence[Path], path: Path, *, rounding: bool, settings: tuple[str, ...]
) -> str:
    hashes = {file_digest(original) for original in originals}
    if file_digest(path) in hashes:
        return ""
    if all(map(is_text, (*originals, path))):
        different = learn(_at_least_two(originals)).compare(path, rounding=rounding, settings=settings)
        return f"differs: {different.sentence}" if different is not None else ""
    if len(hashes) > 1 or differ_in_times_alone(originals[0], path):
        return ""  # the file varies between runs of the original
    return "differs from the original's"


def _at_least_two(paths: Sequence[Path]) -> list[Path]:
    return [*paths] if len(paths) > 1 else [*paths, *paths]
