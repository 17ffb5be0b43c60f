# ruff: noqa: A005 - called as what it measures; nobody imports it by a bare name
"""Whether `mpiric tune --only io` finds the best layout and hints: IOR and mdtest, on a lab's Lustre.

Four sides in turns: the command as it is on the default of one stripe, what tune answers, the rule of t3pio
(McLay et al., XSEDE12), and every point of a grid that an expert would sweep, spelled in the words of `lfs`
and of the library. A run lasts until all that it wrote is on the servers. What the lab's file system cannot
prove is said in `tests/lab/fs`.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from statistics import geometric_mean, median
from tempfile import TemporaryDirectory
from typing import Any

from tests.lab import fs

from benchmarks._ior import PATTERNS, Pattern, built
from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._programs import Bed, beds, changes_of, chosen, offer_choice
from benchmarks._report import Result, options, run, tell
from mpiric.host.isolation.page_cache import make_safe
from mpiric.model.errors import MpiricError, ProgramFailedError

_RANKS, _TARGETS = 4, 8
_LIBRARIES = ("mpich", "openmpi", "intelmpi")
_LIMIT_S = 120.0
_NEAR = 1.25  # times the best point's median
_MIB = 1 << 20
# Aggregators and whether there are any, in the words of each library.
_ROMIO = (
    {},
    {"romio_cb_write": "enable"},
    {"romio_cb_write": "disable"},
    {"cb_nodes": "2", "cb_config_list": "*:2"},
)
_OMPIO = ({}, {"num_aggregators": "1"}, {"num_aggregators": "2"}, {"num_aggregators": "4"})


@dataclass(frozen=True)
class Setup:
    """One point: a layout of the output directory, None for the default, and what the library is given."""

    name: str
    stripes: int | None = None
    stripe_bytes: int = _MIB
    hints: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    prepare: tuple[tuple[str, ...], ...] = ()
    argv: tuple[str, ...] = ()  # another command, as tune prints it

    def variables(self, bed: Bed, directory: Path) -> dict[str, str]:
        """What sets its hints; ROMIO's lie in a file."""
        if not self.hints:
            return dict(self.environment)
        if bed.mpi.implementation == "openmpi":
            return {f"OMPI_MCA_io_ompio_{key}": value for key, value in self.hints.items()}
        file = directory / "hints"
        file.write_text("".join(f"{key} {value}\n" for key, value in self.hints.items()))
        return {"ROMIO_HINTS": str(file)}

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """What is run before the launch."""
        if self.stripes is None:
            return self.prepare
        return (("lfs", "setstripe", "-c", str(self.stripes), "-S", str(self.stripe_bytes), "out"),)


@dataclass(frozen=True)
class Case:
    """A pattern under a library."""

    pattern: Pattern
    mpi: str

    @property
    def name(self) -> str:
        """The name that `--only` matches."""
        return self.pattern.name


CASES = tuple(Case(pattern, mpi) for mpi in _LIBRARIES for pattern in PATTERNS)


@dataclass(frozen=True)
class Lab:
    """The mounted file system, a library, and a command to be run there."""

    client: fs.Client
    bed: Bed
    argv: tuple[str, ...]

    @property
    def environment(self) -> dict[str, str]:
        """Variables that the library wants, with the lab's `lfs` first on PATH."""
        path = f"{fs.SOURCES}:{self.bed.environment['PATH']}"
        return {**self.bed.environment, "PATH": path, "LAB_FS_TARGETS": str(_TARGETS)}

    def run(self, setup: Setup) -> float:
        """Seconds from the launch until all bytes are on the servers."""
        work = self.client.mount / "run"
        (work / "out").mkdir(parents=True)
        try:
            with TemporaryDirectory(prefix="mpiric-bench-") as beside:
                given = {**self.environment, **setup.variables(self.bed, Path(beside))}
                for command in setup.commands():
                    subprocess.run(command, cwd=work, env=given, check=True, capture_output=True)
                begun = time.monotonic()
                done = subprocess.run(
                    setup.argv or self.argv,
                    cwd=work,
                    env=given,
                    capture_output=True,
                    text=True,
                    timeout=_LIMIT_S,
                )
                make_safe(path for path in work.rglob("*") if path.is_file())
                took = time.monotonic() - begun
        finally:
            shutil.rmtree(work)
        if done.returncode:
            raise ProgramFailedError(
                f"{setup.name}: {done.stderr.strip()[-300:] or done.stdout.strip()[-300:]}"
            )
        return took

    def tune(self, budget: str) -> dict[str, Any]:
        """What `mpiric tune --only io --json` prints."""
        work = self.client.mount / "tune"
        (work / "out").mkdir(parents=True)
        words = [
            sys.executable,
            "-m",
            "mpiric",
            "tune",
            "--only",
            "layout,mpi-io",
            "--json",
            "--budget",
            budget,
        ]
        store = ["--store", str(self.client.state / "tunes")]
        environment = {**self.environment, "XDG_STATE_HOME": str(self.client.state)}
        done = subprocess.run(
            [*words, *store, "--", *self.argv], cwd=work, env=environment, capture_output=True, text=True
        )
        shutil.rmtree(work)
        if done.returncode:
            raise MpiricError(f"tune: {done.stderr.strip()[-400:]}")
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def grid(case: Case, *, quick: bool) -> Iterator[Setup]:
    """Every point that an expert would sweep."""
    hints: Sequence[Mapping[str, str]] = ({},)
    if case.pattern.through_mpi:
        hints = _OMPIO if case.mpi == "openmpi" else _ROMIO
    for stripes in (1, 4, 8) if quick else (1, 2, 4, 8):
        for size in (1,) if quick else (1, 4):
            for given in hints[:2] if quick else hints:
                words = ",".join(f"{key}={value}" for key, value in given.items())
                yield Setup(f"{stripes}x{size}MiB {words}".strip(), stripes, size * _MIB, given)


def t3pio(case: Case) -> Setup:
    """Stripes: the largest multiple of the nodes, here one; as many writers as stripes, at most the ranks."""
    if not case.pattern.shared:
        return Setup("t3pio", 1)
    writers = str(min(_TARGETS, _RANKS))
    named = {"openmpi": {"num_aggregators": writers}}.get(
        case.mpi, {"cb_nodes": writers, "cb_config_list": f"*:{writers}"}
    )
    return Setup("t3pio", _TARGETS, _MIB, named if case.pattern.through_mpi else {})


def in_turns(
    lab: Lab, sides: Sequence[Setup], points: Sequence[Setup], rounds: int, seed: int
) -> dict[str, list[float]]:
    """Name → seconds; every round runs each once, in random order, after one that warms up.

    Points that were never within a quarter of the best one's median are left out of further rounds.
    """
    times: dict[str, list[float]] = {setup.name: [] for setup in (*sides, *points)}
    random = Random(f"io {seed}")
    lab.run(sides[0])
    for _ in range(rounds):
        best = min((median(times[point.name]) for point in points if times[point.name]), default=0.0)
        likely = [point for point in points if min(times[point.name], default=0.0) <= _NEAR * best]
        running = [*sides, *likely] if best else [*sides, *points]
        for setup in random.sample(running, len(running)):
            times[setup.name].append(lab.run(setup))
    return times


def _lab(case: Case, bed: Bed, given: Namespace, client: fs.Client) -> Lab:
    program = built(case.pattern.program, bed, given.sources)
    line = (
        bed.mpi.launcher,
        *(("--oversubscribe",) if case.mpi == "openmpi" else ()),
        "-n",
        str(_RANKS),
        program,
    )
    return Lab(client, bed, (*line, *case.pattern.words(given.mebibytes)))


def measured(
    case: Case, bed: Bed, given: Namespace, client: fs.Client, tuned: Mapping[str, Any]
) -> dict[str, Any]:
    """One row, of an answer of tune's and the others."""
    lab = _lab(case, bed, given, client)
    command = tuned["command"] or {"argv": list(lab.argv), "env": {}}
    prepare = tuple(tuple(words) for words in tuned["prepare"])
    answer = Setup("tuned", environment=command["env"], prepare=prepare, argv=tuple(command["argv"]))
    points = list(grid(case, quick=given.quick))
    sides = [Setup("untouched"), answer, t3pio(case)]
    runs = in_turns(lab, sides, points, given.rounds, given.seed)
    times = {name: median(each) for name, each in runs.items()}
    best = min(times[point.name] for point in points if len(runs[point.name]) == given.rounds)
    return {
        "mpi": bed.mpi.label,
        "pattern": case.name,
        "untouched_s": round(times["untouched"], 3),
        "tuned": round(times["untouched"] / times["tuned"], 2),
        "t3pio": round(times["untouched"] / times["t3pio"], 2),
        "best": round(times["untouched"] / best, 2),
        "to_best": round(times["tuned"] / best, 2),
        "search_runs": tuned["runs"],
        "grid_runs": len(points) * given.rounds,
        "answer": changes_of(tuned),
        "verdict": tuned["verdict"],
        "ratio": tuned["ratio"],
        "interval": tuned["ratio_interval"],
        "times_s": times,
    }


_COLUMNS = {
    "mpi": "MPI",
    "pattern": "pattern",
    "untouched_s": "one stripe, s",
    "tuned": "tuned",
    "t3pio": "t3pio",
    "best": "best of grid",
    "to_best": "tuned ÷ best",
    "search_runs": "runs of tune",
    "answer": "what tune changed",
}


@contextmanager
def _mounted(given: Namespace) -> Iterator[fs.Client]:
    """A new file system."""
    with TemporaryDirectory(prefix="mpiric-io-") as place:
        base = Path(place)
        settings = (f"targets={_TARGETS}", f"bandwidth={given.bandwidth}")
        with fs.client(fs.build(base / "labfs"), base / "state", base / "mount", *settings) as client:
            yield client


def _answer(case: Case, bed: Bed, given: Namespace) -> list[dict[str, Any]]:
    """What tune prints of a case."""
    with _mounted(given) as client:
        return [_lab(case, bed, given, client).tune("2m" if given.quick else given.budget)]


def _row(case: Case, bed: Bed, given: Namespace, tuned: Mapping[str, Any]) -> list[dict[str, Any]]:
    with _mounted(given) as client:
        return [measured(case, bed, given, client, tuned)]


def work(given: Namespace) -> Result:
    """All cases, each in two parts, the answer and the table, on a file system of its own."""
    available = beds()
    kept = KeptRows("io", given)
    for case in chosen(CASES, available, given):
        bed, part = available[case.mpi], f"{case.mpi}: {case.name}"
        tell(part)
        kept.add(f"{part}, tune", partial(_answer, case, bed, given))
        for tuned in kept.of(f"{part}, tune"):
            kept.add(part, partial(_row, case, bed, given, tuned))
    rows = [row for row in kept.rows if "to_best" in row]
    if not rows:
        raise MpiricError(f"no case is measured.{kept.remark}", hint="--resume goes on with what is there")
    gain = geometric_mean([row["tuned"] for row in rows])
    near = sum(row["to_best"] <= 1.05 for row in rows)
    summary = (
        f"tuned {gain:.2f}x over one stripe (geometric mean); near the grid's best: {near} of {len(rows)}."
        f"{kept.remark}"
    )
    return Result(_COLUMNS, rows, summary, {"cpus": os.cpu_count()})


def main() -> int:
    """Entry point."""
    parser = options("io", __doc__.splitlines()[0])
    offer_choice(parser)
    offer_parts(parser)
    parser.add_argument("--sources", type=Path, help="directory with a checkout of ior")
    parser.add_argument("--rounds", type=int, default=0, help="of each point; 2 with --quick, else 5")
    parser.add_argument("--mebibytes", type=int, default=4, help="that a rank writes")
    parser.add_argument(
        "--bandwidth", type=float, default=5, help="of a target, in MB/s: slower than two cores"
    )
    parser.add_argument("--budget", default="10m", help="of a tune")
    given = parser.parse_args()
    given.rounds = given.rounds or (2 if given.quick else 5)
    return run("io", given, work)


if __name__ == "__main__":
    sys.exit(main())
