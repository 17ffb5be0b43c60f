"""Error rate of `run --explore` on identical sides, and the number of jobs until a gain is shown.

Each series is assigned, ended and judged by mpiric's rules. Jobs die before the first mark, are killed
late, end without a record, or run two at a time. Every verdict between identical sides is wrong.
"""

import sys
from argparse import Namespace
from collections.abc import Callable
from math import exp, pi, sin
from random import Random
from statistics import median
from typing import Any

from benchmarks._report import Result, options, run, tell
from benchmarks._statistics import upper_bound
from mpiric.model.evidence import Verdict
from mpiric.model.pace import KeyPace, MarkKey, MarkPair
from mpiric.tuning.exploration import Explored, ExploredJob, JobEnd, Side, assign, explored

_GOAL = 0.01
_PAIR = MarkPair(MarkKey("MPI_Allreduce", "", 4, 0), 100, 200)
_MARKS, _SPREADS = 1000, (0.02, 0.05, 0.1, 0.3)
_MOST_JOBS = 200

Noise = Callable[[Random, int], float]
_NOISES: dict[str, Noise] = {
    "plain": lambda _, __: 1.0,
    "drift": lambda _, job: 1 + 0.01 * job,
    "season of ± 30 %": lambda _, job: 1 + 0.3 * sin(2 * pi * job / 14),
    "neighbours": lambda random, _: 1.8 if random.random() < 0.15 else 1.0,
    "second job slower": lambda _, job: 1.2 if job % 2 else 1.0,
}
# share of jobs that die before the first mark, are killed late, end unseen; whether two run at once
_FATES = {"all end well": (0.0, 0.0, 0.0, False), "die, killed, unseen, two at once": (0.1, 0.15, 0.05, True)}

COLUMNS = {
    "sides": "sides",
    "noise": "noise between jobs",
    "fates": "jobs",
    "series": "series",
    "called": "verdicts",
    "upper95": "at most (95 %)",
    "jobs": "jobs to a verdict, median",
}


def main() -> int:
    """Simulate errors, then costs."""
    parser = options("explore_simulated", (__doc__ or "").splitlines()[0])
    parser.add_argument("--series", type=int, help="of each kind (default 1000, quick 50)")
    return run("explore_simulated", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Simulate all kinds of noise and of failures with identical sides, then with gains."""
    count = arguments.series or (50 if arguments.quick else 1000)
    rows: list[dict[str, Any]] = []
    for gain, share in ((1.0, 1), (1.2, 5), (1.05, 10)):
        for noise in _NOISES:
            for fates in _FATES:
                series = [simulated(noise, fates, gain, seed) for seed in range(max(1, count // share))]
                rows.append(_row(gain, noise, fates, series))
                tell(f"{rows[-1]}")
    identical = [row for row in rows if row["sides"] == "identical"]
    return Result(COLUMNS, rows, summary_of(identical))


def summary_of(identical: list[dict[str, Any]]) -> str:
    """Wrong verdicts against the goal, in all and where there are most."""
    wrong, series = (sum(row[key] for row in identical) for key in ("called", "series"))
    worst = max(identical, key=lambda row: row["called"] / row["series"])
    return (
        f"{wrong} of {series} series of identical sides were called different ({wrong / series:.2%}, goal at "
        f"most {_GOAL:.0%}); the most, {worst['called'] / worst['series']:.2%}, with {worst['noise']}, "
        f"{worst['fates']}."
    )


def simulated(noise: str, fates: str, gain: float, seed: int) -> tuple[Explored, int]:
    """Simulate one series to its end; return its result and number of jobs."""
    random = Random(f"explore {noise} {fates} {gain} {seed}")
    dies, killed, unseen, at_once = _FATES[fates]
    spread = _SPREADS[seed % len(_SPREADS)]
    jobs: list[ExploredJob] = []
    for number in range(_MOST_JOBS):
        block, side, _ = assign(jobs, "same", random.choice(list(Side)))
        step_s = 0.05 * _NOISES[noise](random, number) * exp(random.gauss(0, spread))
        if side is Side.RECIPE:
            step_s /= gain
        fate = random.random()
        marks = 50 if fate < dies else 300 if fate < dies + killed else _MARKS
        status = 143 if fate < dies + killed else 0
        end = JobEnd(status, status != 0, "", 60.0, _pace(marks, step_s))
        jobs.append(ExploredJob(str(number), block, side, "same", end=end))
        if random.random() < unseen:
            jobs[-1] = ExploredJob(str(number), block, side, "same")
        running = jobs[:-1] if at_once and number % 2 else jobs  # its end is not known yet
        result = explored(running, _PAIR)
        if result.ended_because:
            return result, number + 1
    return explored(jobs, _PAIR), _MOST_JOBS


def _pace(marks: int, step_s: float) -> KeyPace:
    stride = 64
    return KeyPace(_PAIR.key, marks, stride, tuple(step_s * call for call in range(1, marks + 1, stride)))


def _row(gain: float, noise: str, fates: str, series: list[tuple[Explored, int]]) -> dict[str, Any]:
    called = [jobs for result, jobs in series if result.verdict is not Verdict.NO_DIFFERENCE]
    return {
        "sides": "identical" if gain == 1.0 else f"gain of {gain - 1:.0%}",
        "noise": noise,
        "fates": fates,
        "series": len(series),
        "called": len(called),
        "upper95": round(upper_bound(len(called), len(series)), 4) if gain == 1.0 else None,
        "jobs": median(called) if called and gain > 1.0 else None,
    }


if __name__ == "__main__":
    sys.exit(main())
