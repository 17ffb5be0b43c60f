"""Judging runs that end at a mark: they came there, did the original's work, and had its answers so far."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpiric.model.marks import MarkPair, RunMarks
from mpiric.model.pace import Crossing
from mpiric.tuning.equivalence.output_equivalence import Disagreement
from mpiric.tuning.equivalence.output_prefixes import PrefixExpectation, keep_lines, learn_prefixes
from mpiric.tuning.equivalence.results import ResultsExpectation, learn_results
from mpiric.tuning.marks.agreement import less_work


@dataclass(frozen=True)
class StoppedOriginal:
    """What a run of the original left at its last mark."""

    marks: RunMarks
    stdout: Path
    files: Path


@dataclass(frozen=True)
class MarkJudge:
    """What every run must have done at the last mark. Made by `learn_at_mark`."""

    pair: MarkPair
    work: Mapping[int, Crossing]
    results: ResultsExpectation
    printed: PrefixExpectation
    originals: tuple[StoppedOriginal, ...]
    ignored: "re.Pattern[str] | None" = None  # lines that are not compared

    def other_work(self, marks: RunMarks | None) -> str:
        """Why a run did not come to the mark by the original's way, "" when it did."""
        if marks is None:
            return "its ranks left no marks"
        return less_work(self.work, crossings(marks, self.pair))

    def complaint(
        self,
        marks: RunMarks,
        stdout: Path,
        files: Mapping[str, Path],
        *,
        rounding: bool,
        settings: tuple[str, ...],
    ) -> Disagreement | None:
        """Return the disagreement with the original's answers, None without one."""
        if different := self.results.compare(marks, rounding=rounding):
            return Disagreement(different, place=different)
        files = {} if self.pair.key.is_printed else files
        return self.printed.compare(stdout, files, rounding=rounding, settings=settings)

    def cut(self, stdout: Path) -> None:
        """Cut an output behind the lines that every run has printed when it comes to the mark."""
        keep_lines(stdout, self.printed.stdout.lines)

    def widened(self, original: StoppedOriginal) -> "MarkJudge":
        """Learn from one more run of the original, after it disagreed."""
        return learn_at_mark(self.pair, (*self.originals, original), self.ignored)


def learn_at_mark(
    pair: MarkPair, originals: Sequence[StoppedOriginal], ignored: "re.Pattern[str] | None" = None
) -> MarkJudge:
    """Learn from runs of the original that ended at the mark, at least two.

    What a run had written into files when it was ended at a line of its output, nobody knows.
    """
    files = [] if pair.key.is_printed else [each.files for each in originals]
    return MarkJudge(
        pair,
        crossings(originals[0].marks, pair),
        learn_results([each.marks for each in originals]),
        learn_prefixes([each.stdout for each in originals], files, ignored),
        tuple(originals),
        ignored,
    )


def crossings(marks: RunMarks, pair: MarkPair) -> dict[int, Crossing]:
    """Rank → it at the last mark, for those that count and came there."""
    return {
        rank.rank: rank.last
        for rank in marks.ranks
        if rank.last is not None and (rank.rank == 0 or not pair.on_rank_0_alone)
    }
