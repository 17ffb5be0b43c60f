"""Compare the times of packed programs, and of programs in an image, with the programs themselves.

IMB and LAMMPS under each MPI, and a program of mpi4py, run unchanged, packed, and in an image: in turns, in
random order. Each number is the median over the rounds of the ratio to the unchanged program in the same
round, with a 95 % interval. The goal: no difference within 2 %. Two ranks share the memory of this machine;
unchanged and in the image they also run on two hosts of the virtual cluster (root; tests/lab), one rank each.

The image is an unpacked one (``--image``), run by Charliecloud with the command of `mpiric run --mpi host`;
``tools/container base`` makes a base for users' programs. The program and the libraries of a pack are bound
into it. IMB comes with Intel MPI for MPICH's ABI; ``--imb-openmpi FILE`` names one for Open MPI.
"""

import argparse
import re
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks._container_programs import Program, places, programs
from benchmarks._interleaved import in_turns, launch
from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._programs import beds, chosen, offer_choice
from benchmarks._report import Result, options, run, tell
from mpiric.host.facts.local import LocalHost
from mpiric.model.job import Launch
from mpiric.statistics.confidence_sequence import centre, median_interval
from mpiric.workflows.pack.pack import Packed, PackRequest, pack
from mpiric.workflows.run.collectives import RunRequest
from mpiric.workflows.run.run import prepare

GOAL = 0.02
COLUMNS = {
    "where": "where",
    "mpi": "MPI",
    "program": "program",
    "how": "how",
    "s": "s",
    "ratio": "time ÷ unchanged",
    "interval": "95 %",
    "within_goal": "no difference within 2 %",
}


def launches_of(program: Program, inputs: Path, image: Path | None) -> dict[str, Launch]:
    """Return the ways to run a program; the first is the unchanged program."""
    launches = {"as it is": launch([*program.start, *program.command])}
    if program.is_packed:
        target = inputs / f"{program.bed.mpi.label}-{program.title}.pack"
        arguments_used = 2 if packed(program, target).pack.start.python_program else 1
        launches["packed"] = launch([*program.start, str(target), *program.command[arguments_used:]])
    if image and program.is_contained:
        launches["in an image"] = inside(program, image, inputs)
    return {how: on_hosts(program, line) for how, line in launches.items()}


def on_hosts(program: Program, line: Launch) -> Launch:
    """Return the launch, started on the first host of the program's place."""
    return launch(program.place.on_first(line.argv), line.environment, line.unset)


def packed(program: Program, target: Path, image_format: str = "") -> Packed:
    """Pack it into a file."""
    environment = dict(program.bed.environment)
    line, where = (*program.start, *program.command), str(target.parent)
    request = PackRequest(line, where, environment, target, image_format, use_recipe=False)
    return pack(request, LocalHost())


def inside(program: Program, image: Path, inputs: Path) -> Launch:
    """Return the launch line in an image, with the files of a pack bound, and the MPI library of the host."""
    carried = inputs / f"{program.bed.mpi.label}-{program.title}-{program.place.nodes}"
    archive = carried.with_suffix(".tar")
    start = packed(program, archive, "tar").pack.start.command[0]
    _unpack(archive, carried)
    script = (
        f'#!/bin/sh\nLD_LIBRARY_PATH=/mnt/1/lib:$LD_LIBRARY_PATH exec {start.replace("@/", "/mnt/1/")} "$@"\n'
    )
    (carried / "start").write_text(script)
    (carried / "start").chmod(0o755)
    per_node = program.place.ranks // program.place.nodes
    join = ["--join", f"--join-ct={per_node}", f"--join-tag={carried.name}"]  # CMA copies need one namespace
    binds = ["-b", f"{carried}:/mnt/1", "-b", f"{inputs}:/mnt/2", "--cd", "/mnt/2"]
    engine = ["ch-run", *join, *binds, str(image.resolve()), "--", "/mnt/1/start"]
    arguments = [word.replace(f"{inputs}/", "/mnt/2/") for word in program.command[1:]]
    line = (*program.start, *engine, *arguments)
    environment = program.bed.environment
    request = RunRequest(line, str(inputs), environment, values={"mpi": "host"}, use_recipe=False)
    prepared = prepare(request, LocalHost())
    for sentence in prepared.sentences:
        tell(f"{program.name}: {sentence}")
    rendered = prepared.launch
    return launch(list(rendered.argv), rendered.environment)


def _unpack(file: Path, target: Path) -> None:
    """Unpack the archive behind the script at the beginning of a pack."""
    with file.open("rb") as stream:
        match = re.search(rb"offset=\$\(\(10#(\d+)\)\)", stream.read(1 << 16))
        stream.seek(int(match[1]) if match else 0)
        with tarfile.open(fileobj=stream, mode="r:gz") as archive:
            archive.extractall(target, filter="data")


def compare(program: Program, launches: Mapping[str, Launch], rounds: int, seed: int) -> list[dict[str, Any]]:
    """Return a row for each way to run a program; the first way is the unchanged program."""
    tell(f"{program.name}: {', '.join(launches)}")
    times = in_turns(launches, program.bed.environment, rounds, seed)
    first = next(iter(times.values()))
    labels = {"where": program.place.name, "mpi": program.bed.mpi.label}
    return [{**labels, **row_of(program.title, how, seconds, first)} for how, seconds in times.items()]


def row_of(name: str, how: str, seconds: list[float], first: list[float]) -> dict[str, Any]:
    """Return a row: the times of one way compared with the unchanged program in the same rounds."""
    ratios = [time_s / plain_s for time_s, plain_s in zip(seconds, first, strict=True)]
    low, high = median_interval(ratios, 0.05)
    within = low >= 1 - GOAL and high <= 1 + GOAL
    return {
        "program": name,
        "how": how,
        "s": centre(seconds),
        "ratio": centre(ratios),
        "interval": (low, high),
        "within_goal": within if seconds is not first else None,
    }


def work(arguments: argparse.Namespace) -> Result:
    """Measure all installed programs: from `make test-programs`, and Debian's LAMMPS for Open MPI."""
    table = KeptRows("containers", arguments)
    with tempfile.TemporaryDirectory(prefix="mpiric-containers-") as text:
        inputs = Path(text)
        with places(arguments, inputs) as available:
            for program in chosen(programs(arguments, available, inputs), beds(), arguments):
                table.add(program.name, partial(measure, program, arguments, inputs))
    return Result(COLUMNS, table.rows, f"{summary_of(table.rows)}{table.remark}")


def summary_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the summary: programs that miss the goal."""
    over = [
        f"{row['program']} {row['how']} ({row['mpi']}, {row['where']})"
        for row in rows
        if row["within_goal"] is False
    ]
    return f"Not shown to be within 2 %: {', '.join(over) or 'none'}."


def measure(program: Program, arguments: argparse.Namespace, inputs: Path) -> list[dict[str, Any]]:
    """Return the rows of one program with one library in one place."""
    launches = launches_of(program, inputs, arguments.image)
    return compare(program, launches, 3 if arguments.quick else arguments.rounds, arguments.seed)


def main() -> int:
    """Command line."""
    parser = options("containers", __doc__ or "")
    offer_parts(parser)
    offer_choice(parser)
    parser.add_argument("--rounds", type=int, default=25, help="number of runs of each way")
    parser.add_argument("--image", type=Path, metavar="DIR", help="an unpacked image to run in")
    parser.add_argument("--imb-openmpi", type=Path, metavar="FILE", help="IMB-MPI1 built for Open MPI")
    parser.add_argument(
        "--iterations", type=int, default=30000, help="of each of IMB's sizes; on hosts a thirtieth"
    )
    parser.add_argument("--steps", type=int, default=400, help="number of steps of LAMMPS")
    return run("containers", parser.parse_args(), work)


if __name__ == "__main__":
    sys.exit(main())
