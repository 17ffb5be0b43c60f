"""Share of flipped bits that the comparison at a mark detects, and the share that standard output shows.

One bit of one message or result before the last mark is flipped, at random. A flip is caught if the judge of
a tune rejects the run: it fails, does other work, or has other results, output or files at the mark than runs
of the original. A flip that is not caught is repeated in a run to a later mark: if nothing differs there
either, it has no effect.
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
from benchmarks._marked import MarkedProgram, MarkedRun, marked_program
from benchmarks._programs import Bed, bed
from benchmarks._report import Result, options, run, tell
from mpiric.lab.mark_judge import MarkJudge, kept_files, learn_at_mark
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.pace import MarkPair
from mpiric.model.run import Outcome, Phase, Trial
from mpiric.outputs.equivalence import NONE_ACCEPTED
from mpiric.outputs.files import PrefixExpectation, learn_prefixes

_SOURCE = Path(__file__).with_name("_flip.c")
_COUNTS = struct.Struct("<4Q")  # messages, results, flips, and the time of the flip
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
    """Flip bits in each program, print and save the shares."""
    parser = options("flipped_bits", (__doc__ or "").splitlines()[0])
    parser.add_argument("--places", type=int, help="flips in each program (default 100, quick 6)")
    parser.add_argument("--only", action="append", help="only programs whose name contains this")
    parser.add_argument("--mpi", default="mpich", help="MPI implementation (default mpich)")
    offer_parts(parser)
    offer_sources(parser)
    return run("flipped_bits", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Measure two rows per program: flips in messages and in results."""
    places = arguments.places or (6 if arguments.quick else 100)
    own_bed = bed(arguments.mpi)
    flipper = own_bed.build(_SOURCE, "libflip.so", "-shared", "-fPIC")
    table = KeptRows("flipped_bits", arguments)
    for program in programs(arguments.sources, only=arguments.only or _WORKS):
        for kind in _KINDS:
            part = f"{program.name}, {kind}"
            half = places // len(_KINDS)
            table.add(part, partial(_rows, program, own_bed, flipper, kind, half, arguments.seed))
    rows = table.rows
    flips, caught, printed, idle = (
        sum(row[key] for row in rows) for key in ("flips", "caught", "by_stdout", "without_effect")
    )
    return Result(
        COLUMNS,
        rows,
        f"{caught} of {flips - idle} flips that have an effect are caught at the mark "
        f"({caught / max(1, flips - idle):.1%}, goal {_GOAL:.0%}), {printed} would be by standard output; "
        f"{idle} more show nowhere.{table.remark}",
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
        raise MpiricError(f"the program has no {kind} in which a bit can be flipped")
    flips = caught = by_stdout = failed = without_effect = 0
    missed: list[str] = []
    while flips < places:
        (rank,) = random.choices(range(len(weights)), weights)
        flip = _Flip(kind, rank, random.randint(1, weights[rank]), random.getrandbits(40))
        flipped_run = laboratory.run(flip)
        if not laboratory.has_flipped(rank, flipped_run):
            continue
        has_failed = flipped_run.execution.outcome is not Outcome.OK or flipped_run.marks is None
        is_caught = has_failed or bool(laboratory.complaint(judge, flipped_run))
        flips, failed, caught = flips + 1, failed + has_failed, caught + is_caught
        by_stdout += has_failed or bool(stdout_alone.compare(flipped_run.stdout, {}, NONE_ACCEPTED))
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
    """A program with the bit-flipping library in its ranks."""

    marked: MarkedProgram
    pair: MarkPair
    flipper: str
    place: Path

    def run(self, flip: _Flip) -> MarkedRun:
        """Run to the mark with one bit flipped."""
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
        """Return whether a flip changes anything at this mark."""
        judge, _ = self.expected
        flipped_run = self.run(flip)
        has_failed = flipped_run.execution.outcome is not Outcome.OK or flipped_run.marks is None
        return has_failed or bool(self.complaint(judge, flipped_run))

    @cached_property
    def expected(self) -> tuple[MarkJudge, PrefixExpectation]:
        """Return the judge at the mark and the expected standard output, from runs without a flip."""
        originals = []
        self.place.mkdir(parents=True, exist_ok=True)
        for number in range(_ORIGINALS):
            original = self.run(_Flip("result", 0, 0, 0))
            if original.execution.outcome is not Outcome.OK or original.marks is None:
                raise MpiricError(f"a run of the original {self.marked.why_failed(original.execution)}")
            stdout = self.place / f"{number}.stdout"
            trial = Trial(
                Configuration(), Phase.OBSERVE, Outcome.OK, 0.0, stdout=str(stdout), marks=original.marks
            )
            files = kept_files(trial)
            copyfile(original.stdout, stdout)
            files.mkdir()
            for name, path in self.written(original).items():
                (files / name).parent.mkdir(parents=True, exist_ok=True)
                copyfile(path, files / name)
            originals.append(trial)
        (self.place / "none").mkdir()
        nothing = [self.place / "none"] * _ORIGINALS
        return learn_at_mark(self.pair, originals), learn_prefixes(
            [Path(o.stdout) for o in originals], nothing
        )

    def complaint(self, judge: MarkJudge, marked_run: MarkedRun) -> str:
        """Return the complaint of the judge of a tune about a run that reached the mark, "" without one."""
        assert marked_run.marks is not None
        return judge.other_work(marked_run.marks) or judge.complaint(
            marked_run.marks, marked_run.stdout, self.written(marked_run), NONE_ACCEPTED
        )

    def counts(self, kind: str) -> list[int]:
        """Return the number of messages or results of each rank; a few come after the mark."""
        _ = self.expected  # the runs without a flip write the counts
        paths = sorted(self.place.glob("counts.*"), key=lambda path: int(path.suffix[1:]))
        return [_COUNTS.unpack(path.read_bytes())[_KINDS.index(kind)] for path in paths]

    def has_flipped(self, rank: int, marked_run: MarkedRun) -> bool:
        """Return whether the rank flipped the bit before it reached the mark."""
        path = self.place / f"counts.{rank}"
        if not path.is_file():
            return False
        *_, flipped, moment_ns = _COUNTS.unpack(path.read_bytes())
        marks = (
            next((rank_marks for rank_marks in marked_run.marks.ranks if rank_marks.rank == rank), None)
            if marked_run.marks
            else None
        )
        if marks is None or marks.last is None:
            return flipped == 1
        return flipped == 1 and moment_ns / 1e9 <= marks.begin_unix_s + marks.init_s + marks.last.at_s

    def written(self, marked_run: MarkedRun) -> dict[str, Path]:
        """Return the files that the run wrote."""
        files = (path for path in sorted(marked_run.directory.rglob("*")) if path.is_file())
        named = {str(path.relative_to(marked_run.directory)): path for path in files}
        return {name: path for name, path in named.items() if name not in self.marked.inputs}


if __name__ == "__main__":
    sys.exit(main())
