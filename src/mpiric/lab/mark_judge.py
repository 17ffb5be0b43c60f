"""Judgement of runs that end at a mark: they reached it, did the original's work, and printed its results.

The results of collectives before the mark, and the messages of the step before it, are compared too, except
at call sites at which the original varies (timers, order of arrival).
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import isclose, isnan
from pathlib import Path

from mpiric.model.amount import share
from mpiric.model.dataclass import dataclass
from mpiric.model.pace import Crossing, MarkKey, MarkPair, PlaceResults, RunMarks
from mpiric.model.run import Trial
from mpiric.outputs.equivalence import NONE_ACCEPTED, AcceptedDifferences, Disagreement
from mpiric.outputs.files import PrefixExpectation, keep_lines, learn_prefixes
from mpiric.tuning.mark_choice import is_send, without_library_place

# Largest relative difference of the calls and bytes of collectives and sends, on any rank. Polls, waits and
# receives are not in these counts: their number depends on the times at which messages arrive.
MOST_APART = 0.005

# Programs (regular expression of the complete name) that distribute work by measured times: options that
# prevent it, and the reason. One entry per program, with the manual that says so.
REPEATABLE_OPTIONS = {
    # https://manual.gromacs.org/current/onlinehelp/gmx-mdrun.html: "-dlb", "-[no]tunepme", "-reprod"
    r"(?:gmx|mdrun)(?:_mpi)?(?:_d)?": (
        "-reprod -dlb no -notunepme",
        "it moves work between ranks according to measured times",
    ),
}
_TOLERANCE = 1e-9  # relative tolerance where rounding may differ


def disagreement(runs: Sequence[Mapping[int, Crossing]]) -> str:
    """Return why a mark does not mean the same work in these runs, each rank → crossing; "" if it does."""
    ranks = sorted({rank for run in runs for rank in run})
    if not ranks or any(not run for run in runs):
        return "no rank reached it"
    for rank in ranks:
        states = [run[rank] for run in runs if rank in run]
        if len(states) < len(runs):
            return f"rank {rank} did not reach it in every run"
        for unit, values in (
            ("calls", [state.calls for state in states]),
            ("bytes", [state.bytes for state in states]),
        ):
            apart = _apart(values)
            if apart > MOST_APART:
                return f"{unit} of rank {rank} differ by {share(apart)} between runs"
    return ""


def less_work(original: Mapping[int, Crossing], run: Mapping[int, Crossing]) -> str:
    """Return how the work of a run up to the mark differs from the original's, "" if it is the same."""
    for rank, expected in sorted(original.items()):
        if rank not in run:
            return f"rank {rank} did not reach the step marker"
        for unit, original_count, count in (
            ("calls", expected.calls, run[rank].calls),
            ("bytes", expected.bytes, run[rank].bytes),
        ):
            if _apart((original_count, count)) > MOST_APART:
                difference = f"rank {rank} made {count} {unit} before the mark"
                return f"{difference} where the original makes {original_count}"
    return ""


def _apart(values: Sequence[int]) -> float:
    return (max(values) - min(values)) / max(1, *values)


def repeatable_hint(program: str) -> str:
    """Return a sentence on how to make a program do the same work in every run; "" if unknown."""
    for name, (options, why) in REPEATABLE_OPTIONS.items():
        if re.fullmatch(name, program):
            return f"{why}; `{options}` among its options makes runs repeatable"
    return ""


Place = tuple[int, MarkKey]  # rank and call site
Results = tuple[PlaceResults, ...]


def compare_results(
    places: Mapping[Place, Results], run: RunMarks, accepted: AcceptedDifferences = NONE_ACCEPTED
) -> str:
    """Return the first difference from results that were equal in all originals, "" if there is none.

    With rounding the latest results must be close, and messages are not compared, because small differences
    have grown over the steps.
    """
    results = _by_place(run)
    for (rank, key), expected in places.items():
        if accepted.rounding and is_send(key.function):
            continue
        actual = results.get((rank, key), ())
        if [result.results for result in actual] != [result.results for result in expected]:
            return f"{_named(rank, key)} are not as many as the original's"
        if not all(_alike(*pair, rounding=accepted.rounding) for pair in zip(expected, actual, strict=True)):
            return f"{_named(rank, key)} are not the original's"
    return ""


def learn_results(runs: Sequence[RunMarks]) -> dict[Place, Results]:
    """Return the results and messages that are bitwise equal in runs of the original to the same mark."""
    first, *further = [_by_place(run) for run in runs]
    return {
        place: results
        for place, results in first.items()
        if all(_digests(other.get(place, ())) == _digests(results) for other in further)
    }


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


@dataclass(frozen=True)
class MarkJudge:
    """Requirements for every run at the last mark. Created by `learn_at_mark`."""

    pair: MarkPair
    work: Mapping[int, Crossing]
    results: Mapping[Place, Results]  # equal in all runs of the original
    printed: PrefixExpectation
    originals: tuple[Trial, ...]
    ignored: "re.Pattern[str] | None" = None  # lines that are not compared
    is_any_size: bool = False  # runs have other numbers of ranks, which make other calls

    def other_work(self, marks: RunMarks | None) -> str:
        """Return why a run did not reach the mark with the original's calls, "" if it did."""
        if marks is None:
            return "its ranks recorded no step markers"
        if self.is_any_size:
            late = [rank.rank for rank in marks.ranks if rank.last is None]
            return f"rank {late[0]} did not reach the step marker" if late else ""
        return less_work(self.work, crossings(marks, self.pair))

    def complaint(
        self, marks: RunMarks, stdout: Path, files: Mapping[str, Path], accepted: AcceptedDifferences
    ) -> Disagreement | None:
        """Return the disagreement with the original's answers, None without one."""
        if different := compare_results(self.results, marks, accepted):
            return Disagreement(different, place=different)
        files = {} if self.pair.key.is_printed else files
        return self.printed.compare(stdout, files, accepted)

    def cut(self, stdout: Path) -> None:
        """Truncate an output after the lines that every run has printed when it reaches the mark."""
        keep_lines(stdout, self.printed.stdout.lines)

    def widened(self, original: Trial) -> "MarkJudge":
        """Learn from another run of the original, after it disagreed."""
        return learn_at_mark(self.pair, (*self.originals, original), self.ignored)


def learn_at_mark(
    pair: MarkPair, originals: Sequence[Trial], ignored: "re.Pattern[str] | None" = None
) -> MarkJudge:
    """Learn from at least two runs of the original that ended at the mark.

    The content of files is undefined if a run was ended at a line of its output.
    """
    marks = [original.marks for original in originals if original.marks is not None]
    files = [] if pair.key.is_printed else list(map(kept_files, originals))
    return MarkJudge(
        pair,
        crossings(marks[0], pair),
        learn_results(marks),
        learn_prefixes([Path(original.stdout) for original in originals], files, ignored),
        tuple(originals),
        ignored,
    )


def kept_files(trial: Trial) -> Path:
    """Return the directory for copies of a run's output files, if they are kept."""
    return Path(trial.stdout).with_suffix(".files")


def crossings(marks: RunMarks, pair: MarkPair) -> dict[int, Crossing]:
    """Return each relevant rank's state at the last mark, if it reached it."""
    return {
        rank.rank: rank.last
        for rank in marks.ranks
        if rank.last is not None and (rank.rank == 0 or not pair.on_rank_0_alone)
    }
