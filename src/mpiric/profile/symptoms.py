"""Symptoms: numbers that settings are meant to change, before and after."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from mpiric.host.packaged import packaged_table
from mpiric.model.amount import quote
from mpiric.model.dataclass import dataclass
from mpiric.model.tuned import SymptomChange

_MOVED = 0.8  # ratio of a significant change; recorded runs of one command differ by less
_VISIBLE = 1e-3  # smallest share or rate that is reported


@dataclass(frozen=True)
class Symptom:
    """Wording and direction of a number; see `symptoms.toml`."""

    what: str
    form: str
    of: str
    wants: str = "less"


@lru_cache
def symptoms() -> Mapping[str, Symptom]:
    """Return all numbers with a wording, except numbers of single collectives."""
    return {
        name: Symptom(row["what"], row["form"], row["of"], row.get("wants", "less"))
        for name, row in packaged_table("profile/symptoms").items()
    }


def symptom_changes(
    names: Iterable[str], before: Mapping[str, float], after: Mapping[str, float]
) -> tuple[SymptomChange, ...]:
    """Return noticed values and their changes, for numbers that both runs have and one run shows."""
    changes = []
    for name in dict.fromkeys(names):
        symptom = symptoms().get(name) or _of_collective(name)
        if name in before and name in after and max(before[name], after[name]) >= _VISIBLE:
            changes.append(_change(name, symptom, before, after))
    return tuple(changes)


def _of_collective(name: str) -> Symptom:
    """Return the wording of ``allreduce_share``."""
    return Symptom(f"of the time in MPI_{name.removesuffix('_share').capitalize()}", "%", "run")


def _change(
    name: str, symptom: Symptom, before: Mapping[str, float], after: Mapping[str, float]
) -> SymptomChange:
    in_all = [_in_all(numbers, name, symptom.of) for numbers in (before, after)]
    is_cause = symptom.wants == "same"
    moved = not is_cause and _moved(symptom, *in_all)
    # In a shorter run, a share may have grown although its absolute value shrank.
    hidden = moved and not _moved(symptom, before[name], after[name])
    noticed, afterwards = (
        _wording(name, symptom, numbers, total if hidden else None)
        for numbers, total in zip((before, after), in_all, strict=True)
    )
    return SymptomChange(symptom.what, before[name], after[name], noticed, afterwards, moved, is_cause)


def _moved(symptom: Symptom, earlier: float, later: float) -> bool:
    less, more = (earlier, later) if symptom.wants == "more" else (later, earlier)
    return less <= _MOVED * more


def _wording(name: str, symptom: Symptom, numbers: Mapping[str, float], total: float | None) -> str:
    """Return ``2.2 % of the time in MPI``, with its absolute value if ``total`` is given."""
    text = f"{quote(f'{{{name}:{symptom.form}}}', numbers)} {symptom.what}"
    if total is None:
        return text
    form = "{total:s}" if symptom.form == "%" else "{total:n} in all"
    return f"{text} ({quote(form, {'total': total})})"


def _in_all(numbers: Mapping[str, float], name: str, of: str) -> float:
    """Return the absolute value of a share or rate."""
    run_s = numbers.get("wall_s", 1.0)
    scale = {"run": run_s, "cpu": run_s * numbers.get("cpu_use", 1.0), "": 1.0}[of]
    return numbers[name] * scale
