"""Symptoms: the numbers that settings are meant to move, in a run as it was and in one of the answer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from mpiric.host.packaged import packaged_table
from mpiric.model.conditions import quote
from mpiric.model.symptom import SymptomChange

_MOVED = 0.8  # what is left of a number that went down; recorded runs of one command differ by less
_VISIBLE = 1e-3  # a share or rate below that is nothing that anybody noticed


@dataclass(frozen=True)
class Symptom:
    """How one number is told and judged; see `symptoms.toml`."""

    what: str
    form: str
    of: str
    wants: str = "less"


@lru_cache
def symptoms() -> Mapping[str, Symptom]:
    """Every number that is known in words; those of single collectives are made as they are asked for."""
    return {
        name: Symptom(row["what"], row["form"], row["of"], row.get("wants", "less"))
        for name, row in packaged_table("profile/symptoms").items()
    }


def symptom_changes(
    names: Iterable[str], before: Mapping[str, float], after: Mapping[str, float]
) -> tuple[SymptomChange, ...]:
    """What was noticed and what became of it, of those numbers that both runs have and one shows."""
    changes = []
    for name in dict.fromkeys(names):
        symptom = symptoms().get(name) or _of_collective(name)
        if name in before and name in after and max(before[name], after[name]) >= _VISIBLE:
            changes.append(_change(name, symptom, before, after))
    return tuple(changes)


def _of_collective(name: str) -> Symptom:
    """``allreduce_share``."""
    return Symptom(f"of the time in MPI_{name.removesuffix('_share').capitalize()}", "%", "run")


def _change(
    name: str, symptom: Symptom, before: Mapping[str, float], after: Mapping[str, float]
) -> SymptomChange:
    in_all = [_in_all(numbers, name, symptom.of) for numbers in (before, after)]
    is_cause = symptom.wants == "same"
    moved = not is_cause and _moved(symptom, *in_all)
    # Where the run became shorter, a share of it may have grown while what it is a share of shrank.
    hidden = moved and not _moved(symptom, before[name], after[name])
    noticed, afterwards = (
        _words(name, symptom, numbers, total if hidden else None)
        for numbers, total in zip((before, after), in_all, strict=True)
    )
    return SymptomChange(symptom.what, before[name], after[name], noticed, afterwards, moved, is_cause)


def _moved(symptom: Symptom, earlier: float, later: float) -> bool:
    less, more = (earlier, later) if symptom.wants == "more" else (later, earlier)
    return less <= _MOVED * more


def _words(name: str, symptom: Symptom, numbers: Mapping[str, float], total: float | None) -> str:
    """``2.2 % of the time in MPI``, with what that comes to over the run where a total is given."""
    words = f"{quote(f'{{{name}:{symptom.form}}}', numbers)} {symptom.what}"
    if total is None:
        return words
    form = "{total:s}" if symptom.form == "%" else "{total:n} in all"
    return f"{words} ({quote(form, {'total': total})})"


def _in_all(numbers: Mapping[str, float], name: str, of: str) -> float:
    """What a share or a rate comes to over the run."""
    run_s = numbers.get("wall_s", 1.0)
    scale = {"run": run_s, "cpu": run_s * numbers.get("cpu_use", 1.0), "": 1.0}[of]
    return numbers[name] * scale
