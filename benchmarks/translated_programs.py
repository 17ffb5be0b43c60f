"""Compare the times of translated programs with native ones: LAMMPS and IMB, 2 ranks.

Both sides use the same library and run in turns, in random order. *There and back* is the native program with
two shims that translate into another ABI and back again, so that every call is translated twice. IMB is also
built for two families (``--imb FAMILY=FILE``; without it only Intel's wheel has one, for MPICH's ABI), and
the translated build of the other family is compared with the native build. Each number is the median over the
rounds of translated ÷ native time in the same round, with a 95 % interval. The goal: no difference shown at
1 %. Ranks share the memory of this machine.
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
from mpiric.statistics.confidence_sequence import centre

GOAL = 0.01
NATIVE, TRANSLATED, BACK = "native", "translated", "there and back"
# Size of messages: IMB's logarithms, factor of the number of calls.
SIZES = {
    "8 B": ("3:3", 16),
    "64 KiB": ("16:16", 1),
}
COLUMNS = {
    "mpi": "MPI",
    "program": "program",
    "how": "how",
    "s": "native s",
    "ratio": "time ÷ native",
    "interval": "95 %",
    "said": "at 1 %",
}


@dataclass(frozen=True)
class Pair:
    """A native command under a library, a translated one, and the variables of its translation."""

    program: str
    how: str
    bed: Bed
    native: tuple[str, ...]
    translated: tuple[str, ...]
    stand_in: str

    @property
    def name(self) -> str:
        """Return the name that identifies the pair."""
        return f"{self.program} {self.how} under {self.bed.mpi.label}"


def there_and_back(bed: Bed, family: AbiFamily, place: Path) -> str:
    """Return the variables of two shims: one for the library's programs over one for ``family``."""
    inner = write_stand_in(place / f"{bed.mpi.label}-inner", family, bed.mpi)
    behind = replace(bed.mpi, library=inner, abi_families=(family,))
    return write_stand_in(place / f"{bed.mpi.label}-outer", bed.mpi.abi_families[0], behind)


def pairs(arguments: argparse.Namespace, place: Path) -> Iterator[Pair]:
    """Yield every pair whose programs and library are installed."""
    available = releases(("mpich-5", "openmpi-5", "openmpi-4", "intelmpi"))
    size, steps = (10, 100) if arguments.quick else (20, arguments.steps)
    (place / "in.melt").write_text(MELT.format(size=size, steps=steps))
    melt = ("-in", str(place / "in.melt"), "-log", "none")
    lammps = {"mpich-5": brought_lammps(), "openmpi-4": shutil.which("lmp", path="/usr/bin")}
    other = {"mpich-5": AbiFamily.OPENMPI, "openmpi-4": AbiFamily.MPICH, "openmpi-5": AbiFamily.MPICH}
    imb: dict[AbiFamily, str] = {}
    if "intelmpi" in available:
        imb[AbiFamily.MPICH] = f"{available['intelmpi'].mpi.prefix}/bin/IMB-MPI1"
    imb |= {AbiFamily(family): file for family, file in arguments.imb}
    for release, program in lammps.items():
        if program and release in available:
            back = there_and_back(available[release], other[release], place)
            yield Pair("LAMMPS", BACK, available[release], (program, *melt), (program, *melt), back)
    for release in ("mpich-5", "openmpi-5"):
        bed = available.get(release)
        if bed is None or not (family_imb := imb.get(bed.mpi.abi_families[0])):
            continue
        for word, (sizes, more) in SIZES.items():
            count = str(200 if arguments.quick else arguments.iterations * more)
            fixed = ("-npmin", "2", "-msglog", sizes, "-iter", count, "-iter_policy", "off", "-time", "100")
            table = ("Allreduce", "PingPong", *fixed)
            back = there_and_back(bed, other[release], place)
            yield Pair(f"IMB-MPI1, {word}", BACK, bed, (family_imb, *table), (family_imb, *table), back)
            if foreign := imb.get(other[release]):
                stand_in = write_stand_in(place / f"{bed.mpi.label}-foreign", other[release], bed.mpi)
                native, translated = (family_imb, *table), (foreign, *table)
                yield Pair(f"IMB-MPI1, {word}", TRANSLATED, bed, native, translated, stand_in)


def verdict_of(compared: Ratio) -> str:
    """Return the verdict of an interval on a difference of the goal's size."""
    if compared.low > 1 + GOAL or compared.high < 1 - GOAL:
        return "slower" if compared.low > 1 else "faster"
    within = compared.low >= 1 - GOAL and compared.high <= 1 + GOAL
    return "shown to be the same" if within else "no difference shown"


def compare(pair: Pair, rounds: int, seed: int) -> list[dict[str, Any]]:
    """Measure the row of a pair."""
    start = (pair.bed.mpi.launcher, "-n", "2", "env")
    sides = {
        NATIVE: launch([*start, *pair.native]),
        pair.how: launch([*start, f"LD_PRELOAD={pair.stand_in}", *pair.translated]),
    }
    times = in_turns(sides, pair.bed.environment, rounds, seed)
    compared = ratio(times[pair.how], times[NATIVE])
    labels = {"mpi": pair.bed.mpi.label, "program": pair.program, "how": pair.how}
    numbers = {"s": centre(times[NATIVE]), "ratio": compared.middle, "interval": compared.interval}
    return [{**labels, **numbers, "said": verdict_of(compared)}]


def work(arguments: argparse.Namespace) -> Result:
    """Measure every program under every installed library of another family."""
    table = KeptRows("translated_programs", arguments)
    with tempfile.TemporaryDirectory(prefix="mpiric-translated-") as place:
        for pair in pairs(arguments, Path(place)):
            tell(pair.name)
            table.add(
                pair.name, partial(compare, pair, 3 if arguments.quick else arguments.rounds, arguments.seed)
            )
    if not table.rows:
        raise NotFoundError("LAMMPS or IMB is required for two families", hint="make setup test-programs")
    over = [f"{row['program']} {row['how']} ({row['mpi']})" for row in table.rows if row["said"] == "slower"]
    return Result(
        COLUMNS, table.rows, f"Slower by more than 1 %: {', '.join(over) or 'none shown'}.{table.remark}"
    )


def main() -> int:
    """Parse the options, measure, print and save the table."""
    parser = options("translated_programs", __doc__ or "")
    parser.add_argument("--rounds", type=int, default=25, help="number of runs of each side")
    offer_parts(parser)
    parser.add_argument("--steps", type=int, default=900, help="number of steps of LAMMPS")
    parser.add_argument("--iterations", type=int, default=30000, help="of each of IMB's sizes")
    offer_named(parser, "--imb", "FAMILY=FILE", "IMB-MPI1 built for a family")
    return run("translated_programs", parser.parse_args(), work)


if __name__ == "__main__":
    sys.exit(main())
