"""Whether a translated program takes as long as one that runs natively: LAMMPS and IMB, 2 ranks.

Both sides have the same library underneath, and run in turns, in random order. *There and back* is the very
same program, which two stand-ins translate into another ABI and back again: it pays every call twice. IMB is
also built for two families (``--imb FAMILY=FILE``; without it only Intel's wheel has one, for MPICH's ABI),
and the build of the other family runs translated beside the library's own. A number is the median over the
rounds of the translated time beside the native one of the same round, with a 95 % interval. The goal: no
difference shown at 1 %. Ranks share the memory of this machine.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks._interleaved import in_turns, launch
from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._melt import MELT, brought_lammps
from benchmarks._programs import Bed, releases
from benchmarks._report import Result, offer_named, options, run, tell
from benchmarks._statistics import Ratio, ratio
from mpiric.host.installation.stand_ins import write_stand_in
from mpiric.model.errors import NotFoundError
from mpiric.model.mpi_library import AbiFamily
from mpiric.tuning.proof.confidence_sequence import centre

GOAL = 0.01
NATIVE, TRANSLATED, BACK = "native", "translated", "there and back"
SIZES = {"8 B": ("3:3", 16), "64 KiB": ("16:16", 1)}  # of messages: IMB's logarithms, and how many more calls
COLUMNS = {
    "mpi": "MPI",
    "program": "program",
    "how": "how",
    "s": "native s",
    "ratio": "time beside it",
    "interval": "95 %",
    "said": "at 1 %",
}


@dataclass(frozen=True)
class Pair:
    """A command under a library, what translates the other side's, and that command."""

    program: str
    how: str
    bed: Bed
    native: tuple[str, ...]
    translated: tuple[str, ...]
    stand_in: str

    @property
    def name(self) -> str:
        """The pair among all parts."""
        return f"{self.program} {self.how} under {self.bed.mpi.label}"


def there_and_back(bed: Bed, family: AbiFamily, place: Path) -> str:
    """The stand-in for a library's own programs, over one for ``family``."""
    inner = write_stand_in(place / f"{bed.mpi.label}-inner", family, bed.mpi)
    behind = replace(bed.mpi, library=inner, abi_families=(family,))
    return write_stand_in(place / f"{bed.mpi.label}-outer", bed.mpi.abi_families[0], behind)


def pairs(given: argparse.Namespace, place: Path) -> Iterator[Pair]:
    """Every pair whose programs and library are here."""
    found = releases(("mpich-5", "openmpi-5", "openmpi-4", "intelmpi"))
    size, steps = (10, 100) if given.quick else (20, given.steps)
    (place / "in.melt").write_text(MELT.format(size=size, steps=steps))
    melt = ("-in", str(place / "in.melt"), "-log", "none")
    lammps = {"mpich-5": brought_lammps(), "openmpi-4": shutil.which("lmp", path="/usr/bin")}
    other = {"mpich-5": AbiFamily.OPENMPI, "openmpi-4": AbiFamily.MPICH, "openmpi-5": AbiFamily.MPICH}
    imb: dict[AbiFamily, str] = {}
    if "intelmpi" in found:
        imb[AbiFamily.MPICH] = f"{found['intelmpi'].mpi.prefix}/bin/IMB-MPI1"
    imb |= {AbiFamily(family): file for family, file in given.imb}
    for release, program in lammps.items():
        if program and release in found:
            back = there_and_back(found[release], other[release], place)
            yield Pair("LAMMPS", BACK, found[release], (program, *melt), (program, *melt), back)
    for release in ("mpich-5", "openmpi-5"):
        bed = found.get(release)
        if bed is None or not (own := imb.get(bed.mpi.abi_families[0])):
            continue
        for word, (sizes, more) in SIZES.items():
            table = _imb_words(sizes, 200 if given.quick else given.iterations * more)
            back = there_and_back(bed, other[release], place)
            yield Pair(f"IMB-MPI1, {word}", BACK, bed, (own, *table), (own, *table), back)
            if foreign := imb.get(other[release]):
                stand_in = write_stand_in(place / f"{bed.mpi.label}-foreign", other[release], bed.mpi)
                native, translated = (own, *table), (foreign, *table)
                yield Pair(f"IMB-MPI1, {word}", TRANSLATED, bed, native, translated, stand_in)


def _imb_words(sizes: str, iterations: int) -> tuple[str, ...]:
    fixed = ("-iter", str(iterations), "-iter_policy", "off", "-time", "100")
    return ("Allreduce", "PingPong", "-npmin", "2", "-msglog", sizes, *fixed)


def said(found: Ratio) -> str:
    """What the interval of a ratio says of a difference of the goal's size."""
    if found.low > 1 + GOAL or found.high < 1 - GOAL:
        return "slower" if found.low > 1 else "faster"
    within = found.low >= 1 - GOAL and found.high <= 1 + GOAL
    return "shown to be the same" if within else "no difference shown"


def compare(pair: Pair, rounds: int, seed: int) -> list[dict[str, Any]]:
    """The row of a pair."""
    start = (pair.bed.mpi.launcher, "-n", "2", "env")
    sides = {
        NATIVE: launch([*start, *pair.native]),
        pair.how: launch([*start, f"LD_PRELOAD={pair.stand_in}", *pair.translated]),
    }
    times = in_turns(sides, pair.bed.environment, rounds, seed)
    found = ratio(times[pair.how], times[NATIVE])
    labels = {"mpi": pair.bed.mpi.label, "program": pair.program, "how": pair.how}
    numbers = {"s": centre(times[NATIVE]), "ratio": found.middle, "interval": found.interval}
    return [{**labels, **numbers, "said": said(found)}]


def work(given: argparse.Namespace) -> Result:
    """Every program under every library of another family that is here."""
    kept = KeptRows("translated_programs", given)
    with tempfile.TemporaryDirectory(prefix="mpiric-translated-") as place:
        for pair in pairs(given, Path(place)):
            tell(pair.name)
            kept.add(pair.name, partial(compare, pair, 3 if given.quick else given.rounds, given.seed))
    if not kept.rows:
        raise NotFoundError(
            "neither LAMMPS nor IMB is here for two families", hint="make setup test-programs"
        )
    over = [f"{row['program']} {row['how']} ({row['mpi']})" for row in kept.rows if row["said"] == "slower"]
    return Result(
        COLUMNS, kept.rows, f"Slower by more than 1 %: {', '.join(over) or 'none shown'}.{kept.remark}"
    )


def main() -> int:
    """Command line."""
    parser = options("translated_programs", __doc__ or "")
    parser.add_argument("--rounds", type=int, default=25, help="runs of each")
    offer_parts(parser)
    parser.add_argument("--steps", type=int, default=900, help="of LAMMPS")
    parser.add_argument("--iterations", type=int, default=30000, help="of each of IMB's sizes")
    offer_named(parser, "--imb", "FAMILY=FILE", "IMB-MPI1 built for a family")
    return run("translated_programs", parser.parse_args(), work)


if __name__ == "__main__":
    sys.exit(main())
