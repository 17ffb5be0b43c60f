"""Cost of tuned collectives: the look-up of a decided key, and learning.

Two ranks in shared memory, runs in turns and in random order. The look-up is measured in nanoseconds of the
best tenth of a run and in instructions of the runtime, counted by callgrind. Cases: a policy leaves the call
to the library, on one communicator and on four in turns, compared with the library alone; a policy names an
algorithm of the library, compared with the same choice by the environment; an algorithm of mpiric, counted
until it starts. Learning: the additional calls and time of `online`, without a bound and with the default
one, compared with the same number of calls under the policy that was learned.
"""

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

from benchmarks._programs import Bed, beds
from benchmarks._report import Result, options, run, show, tell
from mpiric.algorithms.library import algorithms_of, version_numbers
from mpiric.model.errors import NotFoundError, ProgramFailedError
from mpiric.tuning.policy_files import read_learned, render_flat
from mpiric.tuning.policy_merge import condense
from mpiric.workflows.policies import strictly, tuner_for

_PROGRAM = Path(__file__).parent / "_collective_cost.c"
_KEYS = (("allreduce", 8), ("allreduce", 16_384), ("bcast", 1024), ("alltoall", 65_536))
_SIZE, _CALLS = 8, 200_000  # bytes and number of MPI_Allreduce calls for the look-up
_SWITCHED, _OWN = "recursive_doubling", "own:recursive_doubling"
_COPIES = 4
_WAITING = ("coll::", "world::allreduce_max", "world::broadcast", "world::wait_until", "world::complete")
_BOUNDS = {"learning": "0", "learning, bounded": "0.01"}
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
    "lost_percent": "in % of the run",
}


def main() -> int:
    """Measure every library that has a runtime."""
    parser = options("collective_cost", (__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", action="append", help="only under these implementations")
    parser.add_argument("--rounds", type=int, help="rounds of all ways (default 15, quick 3)")
    return run("collective_cost", parser.parse_args(), measure)


def measure(arguments: argparse.Namespace) -> Result:
    """Measure the look-up, then learning, under each library."""
    rows: list[dict[str, Any]] = []
    for implementation, bed in beds().items():
        runtime = tuner_for(bed.mpi).library
        if not runtime or (arguments.mpi and implementation not in arguments.mpi):
            continue
        tell(bed.mpi.label)
        with tempfile.TemporaryDirectory(prefix="mpiric-cost-") as place:
            cost = Cost(bed, runtime, Path(place), arguments)
            for row in chain(cost.look_up(), cost.learning()):
                rows.append({"mpi": bed.mpi.label, **row})
                tell(", ".join(f"{name} {show(value)}" for name, value in row.items()))
    if not rows:
        raise NotFoundError("no MPI here has both a C compiler and a runtime", hint="run `make setup`")
    added = [row["added_ns"] for row in rows if row.get("added_ns") is not None]
    counted = [row["instructions"] for row in rows if row.get("instructions") is not None]
    summary = f"A decided call costs at most {max(added):.1f} ns more"
    return Result(COLUMNS, rows, summary + (f", {max(counted):.0f} instructions." if counted else "."))


class Cost:
    """The measuring program under one library, in its own directory."""

    def __init__(self, bed: Bed, runtime: str, place: Path, arguments: argparse.Namespace) -> None:
        self._bed, self._runtime, self._place = bed, runtime, place
        self._rounds = arguments.rounds or (3 if arguments.quick else 15)
        self._random = Random(arguments.seed)
        self._program = place / "cost"
        subprocess.run(
            [bed.mpi.compilers["c"], "-O2", str(_PROGRAM), "-o", str(self._program)],
            env=dict(bed.environment),
            check=True,
            capture_output=True,
        )

    def look_up(self) -> Iterator[dict[str, Any]]:
        """Measure the look-up for three kinds of policy entries."""
        variables = self._choosing("library")
        yield self._looked_up("left to the library", {}, variables)
        yield self._looked_up(f"the same, {_COPIES} communicators", {}, variables, _COPIES)
        mpi = self._bed.mpi
        offered = algorithms_of(mpi.implementation, "allreduce", version_numbers(mpi.version))
        forced = next(
            (dict(algorithm.environment) for algorithm in offered if algorithm.name == _SWITCHED), None
        )
        if forced:
            name = f"library:{_SWITCHED}"
            # Open MPI 4 looks at its variables only with these rules on from the start.
            rules = {name: value for name, value in forced.items() if name.endswith("use_dynamic_rules")}
            yield self._looked_up(name, forced, {**rules, **self._choosing(name)})
        instructions = self._instructions(self._choosing(_OWN), 1)
        yield {"key": f"allreduce {_SIZE} B", "what": _OWN, "instructions": instructions}

    def _looked_up(
        self, what: str, plain: Mapping[str, str], tuned: Mapping[str, str], copies: int = 1
    ) -> dict[str, Any]:
        ways = {"plain": plain, "decided": tuned}
        times: dict[str, list[float]] = defaultdict(list)
        for _ in range(self._rounds):
            for way in self._random.sample(list(ways), len(ways)):
                times[way].append(self._run(ways[way], "allreduce", _SIZE, _CALLS, copies=copies)[1])
        added = [
            decided_s - plain_s for decided_s, plain_s in zip(times["decided"], times["plain"], strict=True)
        ]
        quartiles = statistics.quantiles(added, n=4)
        return {
            "key": f"allreduce {_SIZE} B",
            "what": what,
            "ns": statistics.median(times["decided"]),
            "added_ns": statistics.median(added),
            "quartiles_ns": [quartiles[0], quartiles[2]],
            "instructions": self._instructions(tuned, copies),
        }

    def learning(self) -> Iterator[dict[str, Any]]:
        """Compare learning with the learned policy used from the first call."""
        yield from (self._learning(what, *key) for what in _BOUNDS for key in _KEYS)

    def _learning(self, what: str, collective: str, size: int) -> dict[str, Any]:
        learned = self._place / "learned.json"
        online = {
            "LD_PRELOAD": self._runtime,
            "MPIRIC_COLLECTIVES": "online",
            "MPIRIC_LEARN_AT_MOST": _BOUNDS[what],
            "MPIRIC_LEARN_ONLY": collective,
            "MPIRIC_POLICY_OUT": str(learned),
        }
        lost, calls, choices, best = [], [], [], []
        for _ in range(self._rounds):
            seconds, _ = self._run(online, collective, size, _LEARNING_CALLS)
            policy = read_learned(learned)
            key = max(policy.keys, key=lambda key: key.calls)
            oracle = self._obeying(render_flat(condense(policy)))
            best.append(self._run(oracle, collective, size, _LEARNING_CALLS)[0])
            lost.append(seconds - best[-1])
            calls.append(key.learning_calls)
            choices.append(key.candidate if key.decided else "not decided")
        middle = statistics.median(best)
        return {
            "key": f"{collective} {size} B",
            "what": what,
            "choice": statistics.mode(choices),
            "calls": statistics.median(calls),
            "lost_ms": statistics.median(lost) * 1e3,
            "lost_calls": statistics.median(lost) / middle * _LEARNING_CALLS,
            "lost_percent": statistics.median(lost) / middle * 100,
        }

    def _choosing(self, candidate: str) -> dict[str, str]:
        mpi = self._bed.mpi
        head = f"mpiric-policy 1\nmpi {mpi.implementation} {mpi.version}\n"
        return self._obeying(f"{head}choose allreduce * * * * * 0 * {candidate}\n")

    def _obeying(self, text: str) -> dict[str, str]:
        policy = self._place / f"{abs(hash(text))}.policy"
        policy.write_text(text)
        return {"LD_PRELOAD": self._runtime, **strictly(str(policy))}

    def _run(
        self,
        variables: Mapping[str, str],
        collective: str,
        size: int,
        calls: int,
        tool: tuple[str, ...] = (),
        copies: int = 1,
    ) -> tuple[float, float]:
        """Return the seconds of all calls, and nanoseconds per call in the best tenth."""
        bound = ["-bind-to", "core"] if self._bed.mpi.implementation == "mpich" else []
        command = [self._bed.mpi.launcher, *bound, "-n", "2", *tool, str(self._program)]
        done = subprocess.run(
            [*command, collective, str(size), str(calls), str(copies)],
            env={**self._bed.environment, **variables},
            cwd=self._place,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        times = re.findall(r"^([0-9.]+) ([0-9.]+)$", done.stdout, re.MULTILINE)
        if done.returncode or not times:
            raise ProgramFailedError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-400:]}")
        return float(times[-1][0]), float(times[-1][1])

    def _instructions(self, variables: Mapping[str, str], copies: int) -> float | None:
        """Return the runtime's instructions per call, without library, program, algorithms and waiting."""
        if not shutil.which("valgrind"):
            return None
        counts = []
        for calls in _COUNTED_CALLS:
            out = f"{self._place}/callgrind.%p"
            tool = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--dump-instr=no")
            self._run(variables, "allreduce", _SIZE, calls, tool, copies)
            files = list(self._place.glob("callgrind.*"))
            counts.append(
                statistics.mean(own_instructions(file.read_text(), "libmpiric", _WAITING) for file in files)
            )
            for file in files:
                file.unlink()
        return (counts[1] - counts[0]) / (_COUNTED_CALLS[1] - _COUNTED_CALLS[0])


def own_instructions(profile: str, name: str, without: tuple[str, ...] = ()) -> int:
    """Return the self cost of an object's functions in callgrind's format.

    Functions whose qualified names contain one of ``without`` do not count.
    """
    names: dict[str, str] = {}
    inside, counts, called, total = False, True, False, 0
    for line in profile.splitlines():
        kind, _, value = line.partition("=")
        if kind in ("ob", "cob", "fn", "cfn"):
            number, _, text = value.partition(" ")
            resolved = names.setdefault(("o" if "o" in kind else "f") + number, text)
            if kind == "ob":
                inside = name in resolved
            elif kind == "fn":
                qualified = re.split(r"[(<]", resolved.replace("(anonymous namespace)::", ""))[0]
                counts = not any(word in qualified for word in without)
        elif kind == "calls":
            called = True  # the next line has the cost of the callee
        elif re.match(r"[+\-*\d]", line):
            if inside and counts and not called:
                total += int(line.split()[1])
            called = False
    return total


if __name__ == "__main__":
    sys.exit(main())
