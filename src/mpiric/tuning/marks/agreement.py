"""Agreement: whether runs did the same work up to a mark, and options that make them do so."""

import re
from collections.abc import Mapping, Sequence

from mpiric.model.pace import Crossing

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


def disagreement(runs: Sequence[Mapping[int, Crossing]]) -> str:
    """Return why a mark does not mean the same work in these runs, each rank → crossing; "" if it does."""
    ranks = sorted({rank for run in runs for rank in run})
    if not ranks or any(not run for run in runs):
        return "no rank reached it"
    for rank in ranks:
        crossings = [run[rank] for run in runs if rank in run]
        if len(crossings) < len(runs):
            return f"rank {rank} did not reach it in every run"
        for unit, values in (
            ("calls", [crossing.calls for crossing in crossings]),
            ("bytes", [crossing.bytes for crossing in crossings]),
        ):
            apart = _apart(values)
            if apart > MOST_APART:
                return f"{unit} of rank {rank} differ by {apart:.1%} between runs"
    return ""


def less_work(original: Mapping[int, Crossing], run: Mapping[int, Crossing]) -> str:
    """Return how the work of a run up to the mark differs from the original's, "" if it is the same."""
    for rank, expected in sorted(original.items()):
        if rank not in run:
            return f"rank {rank} did not come to the mark"
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
