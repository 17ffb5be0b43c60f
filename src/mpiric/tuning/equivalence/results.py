"""Comparison of the results of collectives before a mark, and of the messages of the step before it.

Call sites at which the original varies (timers, order of arrival) are excluded.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import isclose, isnan

from mpiric.model.dataclass import dataclass
from mpiric.model.marks import PlaceResults, RunMarks
from mpiric.model.pace import MarkKey
from mpiric.tuning.marks.choice import is_send, without_library_place

_TOLERANCE = 1e-9  # relative tolerance where rounding may differ

Place = tuple[int, MarkKey]  # rank and call site
Results = tuple[PlaceResults, ...]


@dataclass(frozen=True)
class ResultsExpectation:
    """Results and messages that were bitwise equal in all runs of the original."""

    places: Mapping[Place, Results]

    def compare(self, run: RunMarks, *, rounding: bool = False) -> str:
        """Return the first difference in a sentence, "" if there is none.

        With ``rounding`` the latest results must be close, and messages are not compared, because small
        differences have grown over the steps.
        """
        results = _by_place(run)
        for (rank, key), expected in self.places.items():
            if rounding and is_send(key.function):
                continue
            actual = results.get((rank, key), ())
            if [result.results for result in actual] != [result.results for result in expected]:
                return f"{_named(rank, key)} are not as many as the original's"
            if not all(_alike(*pair, rounding=rounding) for pair in zip(expected, actual, strict=True)):
                return f"{_named(rank, key)} are not the original's"
        return ""


def learn_results(runs: Sequence[RunMarks]) -> ResultsExpectation:
    """Learn from runs of the original that ended at the same mark."""
    first, *further = [_by_place(run) for run in runs]
    same = {
        place: results
        for place, results in first.items()
        if all(_digests(other.get(place, ())) == _digests(results) for other in further)
    }
    return ResultsExpectation(same)


def _named(rank: int, key: MarkKey) -> str:
    where = f"{key.function}{' at ' + key.place if key.place else ''} on rank {rank}"
    if is_send(key.function):
        return f"the messages of {where} in the step before the mark"
    return f"the results of {where} before the mark"


def _by_place(run: RunMarks) -> dict[Place, Results]:
    places: dict[Place, list[PlaceResults]] = defaultdict(list)
    for rank in run.ranks:
        for result in rank.results:
            places[rank.rank, without_library_place(result.key)].append(result)
    return {
        place: tuple(sorted(results, key=lambda r: (r.results, r.digest)))
        for place, results in places.items()
    }


def _digests(results: Results) -> list[tuple[int, int]]:
    return [(result.results, result.digest) for result in results]


def _alike(expected: PlaceResults, actual: PlaceResults, *, rounding: bool) -> bool:
    if expected.digest == actual.digest:
        return True
    return (
        rounding
        and bool(expected.latest)
        and len(expected.latest) == len(actual.latest)
        and all(
            isclose(a, b, rel_tol=_TOLERANCE) or (isnan(a) and isnan(b))
            for a, b in zip(expected.latest, actual.latest, strict=True)
        )
    )
