"""Judgement of runs that end at a mark: they reached it, did the original's work, and printed its results."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from mpiric.model.dataclass import dataclass
from mpiric.model.marks import MarkPair, RunMarks
from mpiric.model.pace import Crossing
from mpiric.tuning.equivalence.output_equivalence import Disagreement
from mpiric.tuning.equivalence.output_prefixes import PrefixExpectation, keep_lines, learn_prefixes
from mpiric.tuning.equivalence.results import ResultsExpectation, learn_results
from mpiric.tuning.marks.agreement import less_work


@dataclass(frozen=True)
class StoppedOriginal:
    """Data of an original run at its last mark."""

    marks: RunMarks
    stdout: Path
    files: Path


@dataclass(frozen=True)
class MarkJudge:
    """Requirements for every run at the last mark. Created by `learn_at_mark`."""

    pair: MarkPair
    work: Mapping[int, Crossing]
    results: ResultsExpectation
    printed: PrefixExpectation
    originals: tuple[StoppedOriginal, ...]
    ignored: "re.Pattern[str] | None" = None  # lines that are not compared

    def other_work(self, marks: RunMarks | None) -> str:
        """Return why a run did not reach the mark with the original's calls, "" if it did."""
        if marks is None:
            return "its ranks recorded no step markers"
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
        """Truncate an output after the lines that every run has printed when it reaches the mark."""
        keep_lines(stdout, self.printed.stdout.lines)

    def widened(self, original: StoppedOriginal) -> "MarkJudge":
        """Learn from another run of the original, after it disagreed."""
        return learn_at_mark(self.pair, (*self.originals, original), self.ignored)


def learn_at_mark(
    pair: MarkPair, originals: Sequence[StoppedOriginal], ignored: "re.Pattern[str] | None" = None
) -> MarkJudge:
    """Learn from at least two runs of the original that ended at the mark.

    The content of files is undefined if a run was ended at a line of its output.
    """
    files = [] if pair.key.is_printed else [original.files for original in originals]
    return MarkJudge(
        pair,
        crossings(originals[0].marks, pair),
        learn_results([original.marks for original in originals]),
        learn_prefixes([original.stdout for original in originals], files, ignored),
        tuple(originals),
        ignored,
    )


def crossings(marks: RunMarks, pair: MarkPair) -> dict[int, Crossing]:
    """Return each relevant rank's state at the last mark, if it reached it."""
    return {
        rank.rank: rank.last
        for rank in marks.ranks
        if rank.last is not None and (rank.rank == 0 or not pair.on_rank_0_alone)
    }
