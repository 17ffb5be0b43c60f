"""Whether a packed program, and one in an image, takes as long as the program itself.

IMB and LAMMPS under each MPI, and a program of mpi4py, run as they are, packed, and in an image: in turns, in
random order. A number is the median over the rounds of the time beside that of the program as it is in the
same round, with a 95 % interval. The goal: no difference within 2 %. Ranks share the memory of this machine.

The image is an unpacked one (``--image``), run by Charliecloud as `mpiric run --mpi host` says; the base for
users' programs is made by ``tools/container base``. The program and the libraries that a pack would have are
bound into it. IMB comes with Intel MPI for MPICH's ABI; ``--imb-openmpi FILE`` names one for Open MPI.
"""

import argparse
import os
import re
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks._interleaved import in_turns, launch
from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._melt import BROUGHT, MELT, brought_lammps
from benchmarks._programs import Bed, beds
from benchmarks._report import Result, options, run, tell
from mpiric.host.facts.local import LocalHost
from mpiric.model.errors import NotFoundError
from mpiric.model.launch import Launch
from mpiric.tuning.proof.confidence_sequence import centre, median_interval
from mpiric.workflows.pack.pack import Packed, PackRequest, pack
from mpiric.workflows.run.collectives import RunRequest
from mpiric.workflows.run.run import prepare

GOAL = 0.02
PYTHON = """
import sys
from mpi4py import MPI
data = bytearray(1 << 16)
for _ in range(int(sys.argv[1])):
    MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, data, MPI.BOR)
"""
COLUMNS = {
    "mpi": "MPI",
    "program": "program",
    "how": "how",
    "s": "s",
    "ratio": "time beside it as it is",
    "interval": "95 %",
    "within_goal": "no difference within 2 %",
}


@dataclass(frozen=True)
class Program:
    """A launch line under a library, and whether it is also packed."""

    name: str
    bed: Bed
    line: list[str]
    is_packed: bool = True


def launches_of(program: Program, place: Path, image: Path | None) -> dict[str, Launch]:
    """The ways to run it; the first is the program as it is."""
    found = {"as it is": launch(program.line)}
    if program.is_packed:
        target = place / f"{program.bed.mpi.label}-{program.name}.pack"
        taken = 5 if packed(program, target).pack.start.python_program else 4
        found["packed"] = launch([*program.line[:3], str(target), *program.line[taken:]])
    if image:
        found["in an image"] = inside(program, image, place)
    return found


def packed(program: Program, target: Path, image_format: str = "") -> Packed:
    """Pack it into a file."""
    environment = dict(program.bed.environment)
    where = str(target.parent)
    request = PackRequest(tuple(program.line), where, environment, target, image_format, use_recipe=False)
    return pack(request, LocalHost())


def inside(program: Program, image: Path, place: Path) -> Launch:
    """The launch line in an image, with what a pack would hold bound, and the MPI library of the host."""
    carried = place / f"{program.bed.mpi.label}-{program.name}"
    archive = carried.with_suffix(".tar")
    start = packed(program, archive, "tar").pack.start.command[0]
    _unpack(archive, carried)
    script = (
        f'#!/bin/sh\nLD_LIBRARY_PATH=/mnt/1/lib:$LD_LIBRARY_PATH exec {start.replace("@/", "/mnt/1/")} "$@"\n'
    )
    (carried / "start").write_text(script)
    (carried / "start").chmod(0o755)
    join = ["--join", f"--join-ct={program.line[2]}", f"--join-tag={carried.name}"]  # for copies by CMA
    binds = ["-b", f"{carried}:/mnt/1", "-b", f"{place}:/mnt/2", "--cd", "/mnt/2"]
    engine = ["ch-run", *join, *binds, str(image.resolve()), "--", "/mnt/1/start"]
    words = [word.replace(f"{place}/", "/mnt/2/") for word in program.line[4:]]
    user = {"USER": os.environ.get("USER", "root")}  # ch-run wants one
    environment = {**program.bed.environment, **user}
    line = (*program.line[:3], *engine, *words)
    request = RunRequest(line, str(place), environment, values={"mpi": "host"}, use_recipe=False)
    rendered = prepare(request, LocalHost()).launch
    return launch(list(rendered.argv), {**rendered.environment, **user})


def _unpack(file: Path, target: Path) -> None:
    """Unpack the archive behind the script at the beginning of a pack."""
    with file.open("rb") as stream:
        found = re.search(rb"offset=\$\(\(10#(\d+)\)\)", stream.read(1 << 16))
        stream.seek(int(found[1]) if found else 0)
        with tarfile.open(fileobj=stream, mode="r:gz") as archive:
            archive.extractall(target, filter="data")


def compare(program: Program, launches: Mapping[str, Launch], rounds: int, seed: int) -> list[dict[str, Any]]:
    """A row for each way to run a program; the first is the program as it is."""
    tell(f"{program.name} under {program.bed.mpi.label}: {', '.join(launches)}")
    times = in_turns(launches, program.bed.environment, rounds, seed)
    first = next(iter(times.values()))
    return [
        {"mpi": program.bed.mpi.label, **_row(program.name, how, own, first)} for how, own in times.items()
    ]


def _row(name: str, how: str, own: list[float], first: list[float]) -> dict[str, Any]:
    ratios = [time_s / plain_s for time_s, plain_s in zip(own, first, strict=True)]
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


def programs(given: argparse.Namespace, place: Path) -> Iterator[Program]:
    """Every program under every library that it is here for; those of one place write their inputs there."""
    size, steps, calls, iterations = (
        (10, 100, 2000, 500) if given.quick else (20, 900, 40000, given.iterations)
    )
    (place / "in.melt").write_text(MELT.format(size=size, steps=steps))
    (place / "reduce.py").write_text(PYTHON)
    found = beds()
    intel = found.get("intelmpi")
    imb = {"openmpi": given.imb_openmpi} if given.imb_openmpi else {}
    if intel:
        imb |= dict.fromkeys(("mpich", "intelmpi"), f"{intel.mpi.prefix}/bin/IMB-MPI1")
    lammps = dict.fromkeys(("mpich", "intelmpi"), brought_lammps())
    lammps["openmpi"] = shutil.which("lmp", path="/usr/bin") or ""
    table = (
        "-npmin",
        "2",
        "-msglog",
        "16:16",
        "-iter",
        str(iterations),
        "-iter_policy",
        "off",
        "-time",
        "100",
    )
    for implementation, own in found.items():
        bed = Bed(own.mpi, {**own.environment, "LD_LIBRARY_PATH": ":".join(own.mpi.library_path)})
        start = [bed.mpi.launcher, "-n", "2"]
        if implementation in imb:
            words = [str(imb[implementation]), "Allreduce", "PingPong", *table]
            yield Program("IMB", bed, [*start, *words], is_packed=False)
        if lammps.get(implementation):
            yield Program("LAMMPS", bed, [*start, lammps[implementation], "-in", str(place / "in.melt")])
        if implementation == "mpich" and (BROUGHT / "mpi4py/bin/python").exists():
            words = [str(BROUGHT / "mpi4py/bin/python"), str(place / "reduce.py"), str(calls)]
            yield Program("mpi4py", bed, [*start, *words])


def work(given: argparse.Namespace) -> Result:
    """All programs that are here; those of `make test-programs`, and Debian's LAMMPS for Open MPI."""
    kept = KeptRows("containers", given)
    with tempfile.TemporaryDirectory(prefix="mpiric-containers-") as text:
        for program in programs(given, Path(text)):
            kept.add(
                f"{program.name} under {program.bed.mpi.label}", partial(measure, program, given, Path(text))
            )
    rows = kept.rows
    if not rows:
        raise NotFoundError("neither IMB nor LAMMPS nor mpi4py is here", hint="make setup test-programs")
    over = [f"{row['program']} {row['how']} ({row['mpi']})" for row in rows if row["within_goal"] is False]
    return Result(COLUMNS, rows, f"Not shown to be within 2 %: {', '.join(over) or 'none'}.{kept.remark}")


def measure(program: Program, given: argparse.Namespace, place: Path) -> list[dict[str, Any]]:
    """The rows of one program under one library."""
    launches = launches_of(program, place, None if program.name == "mpi4py" else given.image)
    return compare(program, launches, 3 if given.quick else given.rounds, given.seed)


def main() -> int:
    """Command line."""
    parser = options("containers", __doc__ or "")
    offer_parts(parser)
    parser.add_argument("--rounds", type=int, default=25, help="runs of each")
    parser.add_argument("--image", type=Path, metavar="DIR", help="an unpacked image to run in")
    parser.add_argument("--imb-openmpi", metavar="FILE", help="IMB-MPI1 built for Open MPI")
    parser.add_argument("--iterations", type=int, default=30000, help="of each of IMB's sizes")
    return run("containers", parser.parse_args(), work)


if __name__ == "__main__":
    sys.exit(main())
