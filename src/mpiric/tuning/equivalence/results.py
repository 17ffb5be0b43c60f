"""Results of collectives before a mark, and messages of the step before it: the same numbers in every run.

Where the original itself varies (timers, what arrives first), learning excludes the place.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose, isnan

from mpiric.model.marks import PlaceResults, RunMarks
from mpiric.model.pace import MarkKey
from mpiric.tuning.marks.choice import is_send, without_library_place

_TOLERANCE = 1e-9  # relative, where rounding may differ

Place = tuple[int, MarkKey]  # rank, and where from
Seen = tuple[PlaceResults, ...]


@dataclass(frozen=True)
class ResultsExpectation:
    """Results and messages that were equal to the bit in all runs of the original."""

    places: Mapping[Place, Seen]

    def compare(self, run: RunMarks, *, rounding: bool = False) -> str:
        """What differs, in a sentence, "" when nothing does.

        With ``rounding`` the latest results are close, and of messages, where small differences have grown
        over the steps, nothing is asked.
        """
        found = _by_place(run)
        for (rank, key), expected in self.places.items():
            if rounding and is_send(key.function):
                continue
            there = found.get((rank, key), ())
            if [each.results for each in there] != [each.results for each in expected]:
                return f"{_named(rank, key)} are not as many as the original's"
            if not all(_alike(*pair, rounding=rounding) for pair in zip(expected, there, strict=True)):
                return f"{_named(rank, key)} are not the original's"
        return ""


def learn_results(runs: Sequence[RunMarks]) -> ResultsExpectation:
    """Learn from runs of the original that ended at the same mark."""
    seen = [_by_place(run) for run in runs]
    same = {
        place: results
        for place, results in seen[0].items()
        if all(_digests(other.get(place, ())) == _digests(results) for other in seen[1:])
    }
    return ResultsExpectation(same)


def _named(rank: int, key: MarkKey) -> str:
    where = f"{key.function}{' at ' + key.place if key.place else ''} on rank {rank}"
    if is_send(key.function):
        return f"the messages of {where} in the step before the mark"
    return f"the results of {where} before the mark"


def _by_place(run: RunMarks) -> dict[Place, Seen]:
    places: dict[Place, list[PlaceResults]] = defaultdict(list)
    for rank in run.ranks:
        for each in rank.results:
            places[rank.rank, without_library_place(each.key)].append(each)
    return {
        place: tuple(sorted(found, key=lambda r: (r.results, r.digest))) for place, found in places.items()
    }


def _digests(results: Seen) -> list[tuple[int, int]]:
    return [(each.results, each.digest) for each in results]


def _alike(expected: PlaceResults, found: PlaceResults, *, rounding: bool) -> bool:
    if expected.digest == found.digest:
        return True
    return (
        rounding
        and bool(expected.latest)
        and len(expected.latest) == len(found.latest)
        and all(
            isclose(a, b, rel_tol=_TOLERANCE) or (isnan(a) and isnan(b))
            for a, b in zip(expected.latest, found.latest, strict=True)
        )
    )
