"""Blocks of two jobs: a coin gives the first to recipe or original, the second gets the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from mpiric.tuning.explore.ledger import UNPAIRED, ExploredJob, Side


@dataclass(frozen=True)
class Assignment:
    """What a job is to run, and in which block."""

    block: int
    side: Side
    word: str = ""  # said to the user beside it


def assign(jobs: Sequence[ExploredJob], inputs: str, coin: Side) -> Assignment:
    """The place of the next job; ``coin`` decides where it is the first of a block.

    Jobs with other inputs belong to other blocks: one that was begun with them waits for such a job.
    """
    blocks = paired(jobs)
    waiting = [(number, block[0]) for number, block in sorted(blocks.items()) if len(block) == 1]
    for number, first in waiting:
        if first.inputs == inputs:
            return Assignment(number, first.side.other)
    word = ""
    if waiting:
        word = (
            f"inputs have changed since the first job of block {waiting[-1][0]}, which waits for another job "
            "with the former ones"
        )
    return Assignment(max(blocks, default=0) + 1, coin, word)


def paired(jobs: Sequence[ExploredJob]) -> dict[int, list[ExploredJob]]:
    """Block → its jobs, one or two."""
    blocks: dict[int, list[ExploredJob]] = {}
    for job in jobs:
        if job.block != UNPAIRED and len(blocks.setdefault(job.block, [])) < 2:
            blocks[job.block].append(job)
    return blocks
