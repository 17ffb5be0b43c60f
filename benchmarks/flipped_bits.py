"""How many flipped bits the answers at a mark catch, beside what standard output alone would catch.

One bit of one message or result is flipped, drawn at random over ranks, messages and results that come before
the last mark, and bits. Caught is what the judge of a tune rejects: the run fails, does other work, or has
other results, output or files at the mark than runs of the original. A flip that is not caught is made again
in a run to a later mark: where nothing differs there either, it has changed no answer.
"""

import struct
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from random import Random
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._mark_programs import MarkProgram, offer_sources, programs
from benchmarks._marked import MarkedProgram, Seen, marked_program
from benchmarks._programs import Bed, bed
from benchmarks._report import Result, options, run, tell
from mpiric.lab.mark_judge import MarkJudge, StoppedOriginal, learn_at_mark
from mpiric.model.errors import MpiricError
from mpiric.model.marks import MarkPair
from mpiric.model.trial import Outcome
from mpiric.tuning.equivalence.output_prefixes import PrefixExpectation, learn_prefixes

_SOURCE = Path(__file__).with_name("_flip.c")
_COUNTS = struct.Struct("<4Q")  # of messages, results, flips, and when that was
_ORIGINALS = 3
_KINDS = ("message", "result")
_GOAL = 0.99
_WINDOW, _SECONDS = (10, 240), 1.0  # numbers of the calls that are marks; a tune's are as long at least
_LATER = 4  # times as many
_WORKS = ("heat3d", "cg", "LAMMPS melt", "CoMD")

COLUMNS = {
    "program": "program",
    "kind": "flipped in a",
    "flips": "flips",
    "caught": "caught",
    "by_stdout": "by stdout alone",
    "failed": "of these: the run failed",
    "share": "share caught",
    "without_effect": "not caught: without effect later either",
    "missed": "missed",
}


@dataclass(frozen=True)
class _Flip:
    kind: str
    rank: int
    nth: int
    bit: int


def main() -> int:
    """Flip bits in each program."""
    parser = options("flipped_bits", (__doc__ or "").splitlines()[0])
    parser.add_argument("--places", type=int, help="in each program (default 100, quick 6)")
    parser.add_argument("--only", action="append", help="only programs whose name contains this")
    parser.add_argument("--mpi", default="mpich", help="implementation")
    offer_parts(parser)
    offer_sources(parser)
    return run("flipped_bits", parser.parse_args(), measure)


def measure(given: Namespace) -> Result:
    """Two rows a program."""
    places = given.places or (6 if given.quick else 100)
    own_bed = bed(given.mpi)
    flipper = own_bed.build(_SOURCE, "libflip.so", "-shared", "-fPIC")
    kept = KeptRows("flipped_bits", given)
    for program in programs(given.sources, only=given.only or _WORKS):
        for kind in _KINDS:
            part = f"{program.name}, {kind}"
            half = places // len(_KINDS)
            kept.add(part, partial(_rows, program, own_bed, flipper, kind, half, given.seed))
    rows = kept.rows
    flips, caught, printed, idle = (
        sum(row[key] for row in rows) for key in ("flips", "caught", "by_stdout", "without_effect")
    )
    return Result(
        COLUMNS,
        rows,
        f"{caught} of {flips - idle} flips that have an effect are caught at the mark "
        f"({caught / max(1, flips - idle):.1%}, goal {_GOAL:.0%}), {printed} would be by standard output; "
        f"{idle} more show nowhere.{kept.remark}",
    )


def _rows(
    program: MarkProgram, own_bed: Bed, flipper: str, kind: str, places: int, seed: int
) -> Iterator[dict[str, Any]]:
    random = Random(f"flips {program.name} {kind} {seed}")
    argv, inputs = program.command(own_bed)
    with marked_program(argv, own_bed, inputs) as marked, TemporaryDirectory(prefix="mpiric-flips-") as name:
        learned = marked.learn()
        pair = learned.short_pair(_WINDOW, _SECONDS)
        late = replace(pair, last=max(pair.last, min(_LATER * pair.last, learned.calls_of(pair))))
        laboratory = _Laboratory(marked, pair, flipper, Path(name) / "at the mark")
        later = _Laboratory(marked, late, flipper, Path(name) / "later")
        row = _row(laboratory, later, kind, places, random)
        tell(f"{program.name}, {kind}: {row}")
        yield {"program": program.name, "kind": kind, **row}


def _row(
    laboratory: "_Laboratory", later: "_Laboratory", kind: str, places: int, random: Random
) -> dict[str, Any]:
    judge, stdout_alone = laboratory.expected
    weights = laboratory.counts(kind)
    if not any(weights):
        raise MpiricError(f"no {kind} of a kind that can be flipped was seen")
    flips = caught = by_stdout = failed = without_effect = 0
    missed: list[str] = []
    while flips < places:
        (rank,) = random.choices(range(len(weights)), weights)
        flip = _Flip(kind, rank, random.randint(1, weights[rank]), random.getrandbits(40))
        seen = laboratory.run(flip)
        if not laboratory.has_flipped(rank, seen):
            continue
        has_failed = seen.execution.outcome is not Outcome.OK or seen.marks is None
        is_caught = has_failed or bool(laboratory.complaint(judge, seen))
        flips, failed, caught = flips + 1, failed + has_failed, caught + is_caught
        by_stdout += has_failed or bool(stdout_alone.compare(seen.stdout, {}, rounding=False, settings=()))
        if is_caught:
            continue
        if later.has_effect(flip):
            missed.append(f"rank {rank}, {flip.nth} of {weights[rank]}")
        else:
            without_effect += 1
    return {
        "flips": flips,
        "caught": caught,
        "by_stdout": by_stdout,
        "failed": failed,
        "share": caught / (flips - without_effect) if flips > without_effect else None,
        "without_effect": without_effect,
        "missed": "; ".join(missed[:4]),
    }


@dataclass
class _Laboratory:
    """A program with the flipper in its ranks."""

    marked: MarkedProgram
    pair: MarkPair
    flipper: str
    place: Path

    def run(self, flip: _Flip) -> Seen:
        """One run to the mark with one bit flipped."""
        for path in self.place.glob("counts.*"):
            path.unlink()
        environment = {
            "FLIP_KIND": flip.kind,
            "FLIP_RANK": str(flip.rank),
            "FLIP_NTH": str(flip.nth),
            "FLIP_BIT": str(flip.bit),
            "FLIP_COUNTS": str(self.place / "counts"),
        }
        return self.marked.run(self.pair, limit_s=20.0, behind=(self.flipper,), environment=environment)

    def has_effect(self, flip: _Flip) -> bool:
        """Whether a flip is seen at this mark."""
        judge, _ = self.expected
        seen = self.run(flip)
        has_failed = seen.execution.outcome is not Outcome.OK or seen.marks is None
        return has_failed or bool(self.complaint(judge, seen))

    @cached_property
    def expected(self) -> tuple[MarkJudge, PrefixExpectation]:
        """What is expected at the mark, from runs in which nothing is flipped; and of standard output."""
        originals = []
        self.place.mkdir(parents=True, exist_ok=True)
        for number in range(_ORIGINALS):
            seen = self.run(_Flip("result", 0, 0, 0))
            if seen.execution.outcome is not Outcome.OK or seen.marks is None:
                raise MpiricError(f"a run of the original {self.marked.said(seen.execution)}")
            stdout, files = self.place / f"{number}.stdout", self.place / f"{number}.files"
            copyfile(seen.stdout, stdout)
            files.mkdir()
            for name, path in self.written(seen).items():
                (files / name).parent.mkdir(parents=True, exist_ok=True)
                copyfile(path, files / name)
            originals.append(StoppedOriginal(seen.marks, stdout, files))
        (self.place / "none").mkdir()
        nothing = [self.place / "none"] * _ORIGINALS
        return learn_at_mark(self.pair, originals), learn_prefixes([o.stdout for o in originals], nothing)

    def complaint(self, judge: MarkJudge, seen: Seen) -> str:
        """What the judge of a tune says of a run that came to the mark."""
        assert seen.marks is not None
        return judge.other_work(seen.marks) or judge.complaint(
            seen.marks, seen.stdout, self.written(seen), rounding=False, settings=()
        )

    def counts(self, kind: str) -> list[int]:
        """Messages or results of each rank, a few of which come after the mark."""
        _ = self.expected  # of the runs in which nothing was flipped
        paths = sorted(self.place.glob("counts.*"), key=lambda path: int(path.suffix[1:]))
        return [_COUNTS.unpack(path.read_bytes())[_KINDS.index(kind)] for path in paths]

    def has_flipped(self, rank: int, seen: Seen) -> bool:
        """Whether the rank came to the place before it came to the mark."""
        path = self.place / f"counts.{rank}"
        if not path.is_file():
            return False
        *_, flipped, moment_ns = _COUNTS.unpack(path.read_bytes())
        left = next((each for each in seen.marks.ranks if each.rank == rank), None) if seen.marks else None
        if left is None or left.last is None:
            return flipped == 1
        return flipped == 1 and moment_ns / 1e9 <= left.begin_unix_s + left.init_s + left.last.at_s

    def written(self, seen: Seen) -> dict[str, Path]:
        """Files that the run made."""
        found = (path for path in sorted(seen.directory.rglob("*")) if path.is_file())
        named = {str(path.relative_to(seen.directory)): path for path in found}
        return {name: path for name, path in named.items() if name not in self.marked.inputs}


if __name__ == "__main__":
    sys.exit(main())
