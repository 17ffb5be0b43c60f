"""What tuned collectives cost: the look-up once a key is settled, and learning it.

Two ranks in shared memory, runs in turns and in random order. Look-up: a policy leaves the call to the
library, against the library alone, in nanoseconds of the best tenth of a run, and in instructions of the
runtime alone as callgrind counts them. Learning: the calls and the time that `online` without a bound takes
more than an oracle, which is the same number of calls with what was learnt known from the start.
"""

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from benchmarks._programs import Bed, beds
from benchmarks._report import Result, options, run, tell
from mpiric.model.errors import NotFoundError
from mpiric.tuning.policy import condense, read_learned, render_flat
from mpiric.workflows.policies import tuner_for

_PROGRAM = Path(__file__).parent / "_collective_cost.c"
_KEYS = (("allreduce", 8), ("allreduce", 16_384), ("bcast", 1024), ("alltoall", 65_536))
_LOOKED_UP = ("allreduce", 8, 200_000)
_LEARNING_CALLS = 20_000
_COUNTED_CALLS = (1_000, 6_000)  # instructions are their difference, so that start and end cancel

COLUMNS = {
    "mpi": "MPI",
    "key": "key",
    "what": "what",
    "ns": "ns a call",
    "added_ns": "added ns",
    "quartiles_ns": "quartiles",
    "instructions": "instructions of ours",
    "choice": "chosen",
    "calls": "learning calls",
    "lost_ms": "lost to the oracle, ms",
    "lost_calls": "the same in calls",
}


def main() -> int:
    """Every library that has a runtime."""
    parser = options("collective_cost", (__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", action="append", help="only under these implementations")
    parser.add_argument("--rounds", type=int, help="of all ways (default 15, quick 3)")
    return run("collective_cost", parser.parse_args(), measure)


def measure(given: argparse.Namespace) -> Result:
    """Look-up, then learning, under each library."""
    rows: list[dict[str, Any]] = []
    for implementation, bed in beds().items():
        runtime = tuner_for(bed.mpi).library
        if not runtime or (given.mpi and implementation not in given.mpi):
            continue
        tell(bed.mpi.label)
        with tempfile.TemporaryDirectory(prefix="mpiric-cost-") as place:
            cost = Cost(bed, runtime, Path(place), given)
            rows += [{"mpi": bed.mpi.label, **row} for row in (*cost.look_up(), *cost.learning())]
    if not rows:
        raise NotFoundError("no MPI here has both a C compiler and a runtime", hint="run `make setup`")
    added = [row["added_ns"] for row in rows if row.get("added_ns") is not None]
    counted = [row["instructions"] for row in rows if row.get("instructions") is not None]
    said = f"A settled call costs at most {max(added):.0f} ns more"
    return Result(COLUMNS, rows, said + (f", {max(counted):.0f} instructions." if counted else "."))


class Cost:
    """The program under one library, in a directory of its own."""

    def __init__(self, bed: Bed, runtime: str, place: Path, given: argparse.Namespace) -> None:
        self._bed, self._runtime, self._place = bed, runtime, place
        self._rounds = given.rounds or (3 if given.quick else 15)
        self._random = Random(given.seed)
        self._program = place / "cost"
        subprocess.run(
            [bed.mpi.compilers["c"], "-O2", str(_PROGRAM), "-o", str(self._program)],
            env=dict(bed.environment),
            check=True,
            capture_output=True,
        )

    def look_up(self) -> list[dict[str, Any]]:
        """With every choice the library's, which the runtime has to find out."""
        collective, size, calls = _LOOKED_UP
        ways = {
            "plain": {},
            "settled": self._obeying(self._head() + f"choose {collective} * * * * * 0 * library\n"),
        }
        times: dict[str, list[float]] = defaultdict(list)
        for _ in range(self._rounds):
            for way in self._random.sample(list(ways), len(ways)):
                times[way].append(self._run(ways[way], collective, size, calls)[1])
        added = [one - other for one, other in zip(times["settled"], times["plain"], strict=True)]
        quartiles = statistics.quantiles(added, n=4)
        row = {
            "key": f"{collective} {size} B",
            "what": "look-up",
            "ns": statistics.median(times["settled"]),
            "added_ns": statistics.median(added),
            "quartiles_ns": [quartiles[0], quartiles[2]],
            "instructions": self._instructions(ways["settled"], collective, size),
        }
        return [row]

    def learning(self) -> list[dict[str, Any]]:
        """Online from the first call, against what it ends with from the first call."""
        return [self._learning(collective, size) for collective, size in _KEYS]

    def _learning(self, collective: str, size: int) -> dict[str, Any]:
        learned = self._place / "learned.json"
        online = {
            "LD_PRELOAD": self._runtime,
            "MPIRIC_COLLECTIVES": "online",
            "MPIRIC_LEARN_AT_MOST": "0",
            "MPIRIC_LEARN_ONLY": collective,
            "MPIRIC_POLICY_OUT": str(learned),
        }
        lost, calls, choices, each = [], [], [], []
        for _ in range(self._rounds):
            seconds, _ = self._run(online, collective, size, _LEARNING_CALLS)
            policy = read_learned(learned)
            key = max((key for key in policy.keys), key=lambda key: key.calls)
            oracle = self._obeying(render_flat(condense(policy)))
            best, _ = self._run(oracle, collective, size, _LEARNING_CALLS)
            lost.append(seconds - best)
            each.append(best / _LEARNING_CALLS)
            calls.append(key.learning_calls)
            choices.append(key.candidate if key.settled else "not settled")
        return {
            "key": f"{collective} {size} B",
            "what": "learning",
            "choice": statistics.mode(choices),
            "calls": statistics.median(calls),
            "lost_ms": statistics.median(lost) * 1e3,
            "lost_calls": statistics.median(lost) / statistics.median(each),
        }

    def _head(self) -> str:
        mpi = self._bed.mpi
        return f"mpiric-policy 1\nmpi {mpi.implementation} {mpi.version}\n"

    def _obeying(self, text: str) -> dict[str, str]:
        policy = self._place / f"{abs(hash(text))}.policy"
        policy.write_text(text)
        return {"LD_PRELOAD": self._runtime, "MPIRIC_COLLECTIVES": "policy", "MPIRIC_POLICY": str(policy)}

    def _run(
        self, variables: Mapping[str, str], collective: str, size: int, calls: int, tool: tuple[str, ...] = ()
    ) -> tuple[float, float]:
        """Seconds of all calls, and nanoseconds a call of the best tenth."""
        bound = ["-bind-to", "core"] if self._bed.mpi.implementation == "mpich" else []
        words = [self._bed.mpi.launcher, *bound, "-n", "2", *tool, str(self._program)]
        done = subprocess.run(
            [*words, collective, str(size), str(calls)],
            env={**self._bed.environment, **variables},
            cwd=self._place,
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        )
        seconds, best_ns = re.findall(r"^([0-9.]+) ([0-9.]+)$", done.stdout, re.MULTILINE)[-1]
        return float(seconds), float(best_ns)

    def _instructions(self, variables: Mapping[str, str], collective: str, size: int) -> float | None:
        """Of the runtime's own code in one call, library and program left out."""
        if not shutil.which("valgrind"):
            return None
        counts = []
        for calls in _COUNTED_CALLS:
            out = f"{self._place}/callgrind.%p"
            tool = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--dump-instr=no")
            self._run(variables, collective, size, calls, tool)
            files = list(self._place.glob("callgrind.*"))
            counts.append(statistics.mean(own_instructions(file.read_text(), "libmpiric") for file in files))
            for file in files:
                file.unlink()
        return (counts[1] - counts[0]) / (_COUNTED_CALLS[1] - _COUNTED_CALLS[0])


def own_instructions(profile: str, name: str) -> int:
    """Self cost of all functions of an object in callgrind's format, what they call left out."""
    names: dict[str, str] = {}
    inside, called, total = False, False, 0
    for line in profile.splitlines():
        if line.startswith("ob="):
            number, _, path = line[3:].partition(" ")
            inside = name in names.setdefault(number, path)
        elif line.startswith("cob="):
            number, _, path = line[4:].partition(" ")
            names.setdefault(number, path)
        elif line.startswith("calls="):
            called = True  # the next line is what the callee cost
        elif re.match(r"[+\-*\d]", line):
            if inside and not called:
                total += int(line.split()[1])
            called = False
    return total


if __name__ == "__main__":
    sys.exit(main())
