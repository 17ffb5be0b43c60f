"""Predictions of `mpiric scale` at sizes that were not run, against curves that are known exactly.

No program runs: the plan of a scaling study is answered by curves of known mechanisms with noise, by seed.
Sizes up to 16 or 32 cores are measured, and twice and four times as many are predicted. In further cases the
mechanism changes between the measured sizes; these have to be refused. ``--programs`` adds curves
of measured programs.
"""

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log2
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from benchmarks._report import Result, options, run
from mpiric.lab.lab import drive
from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Run, Trial
from mpiric.model.scaling import Size
from mpiric.plans.scaling import SizeRuns, SizesToMeasure, measure_sizes
from mpiric.statistics.scaling_estimates import standard_error, time_of
from mpiric.statistics.scaling_model import NotPredictableError, Point, fit_model
from mpiric.tuning.objective import Budget

Curve = Callable[[int], float]  # cores → seconds
_NOISES = (0.005, 0.02)
_MEASURED = (1, 2, 4, 8, 16, 32)
_FACTORS = 2, 4  # multiples of the largest measured size that are predicted

COLUMNS = {
    "mechanism": "mechanism",
    "cases": "cases",
    "predicted": "predictions",
    "refused": "cases refused",
    "error": "error, median",
    "error_90": "90 % of errors below",
    "covered": "inside the 90 % interval",
}


@dataclass(frozen=True)
class Case:
    """Program with a known curve; ``changes``: its mechanism changes between the measured sizes."""

    mechanism: str
    curve: Curve
    is_weak: bool = False
    changes: bool = False


def mechanisms(random: Random) -> list[Case]:
    """Return one case of each mechanism, with coefficients from a generator."""
    serial, log_part, exchange = (random.uniform(0.002, 0.05) for _ in range(3))
    contention, imbalance, at = random.uniform(1e-4, 2e-3), random.uniform(0.02, 0.15), random.choice((4, 8))
    jump = random.uniform(1.5, 3.0)
    return [
        Case("Amdahl", lambda p: (1 - serial) / p + serial),
        Case("collectives", lambda p: 1 / p + 0.3 * log_part * log2(p)),
        Case("neighbours", lambda p: 1 / p + exchange * p ** (-2 / 3)),
        Case("serial and collectives", lambda p: 1 / p + 0.3 * serial + 0.2 * log_part * log2(p)),
        Case("Universal Scalability Law", lambda p: (1 + serial * (p - 1) + contention * p * (p - 1)) / p),
        Case("imbalance", lambda p: (1 + imbalance * log2(p) ** 0.5) / p),
        Case("all", lambda p: 1 / p + 0.2 * serial + exchange * p ** (-2 / 3) + 0.1 * log_part * log2(p)),
        Case("weak, collectives", lambda p: 1 + log_part * log2(p), is_weak=True),
        Case("weak, neighbours", lambda p: 1 + 4 * exchange * (1 - p ** (-1 / 3)), is_weak=True),
        Case("jump", lambda p: 1 / p + (0.0 if p <= at else jump / p), changes=True),
        Case("saturation of memory", lambda p: 1 / min(p, at) if p > 1 else 1.0, changes=True),
        Case("cache", lambda p: (1 if p < at else 1 / jump) / p + 0.01, changes=True),
    ]


def main() -> int:
    """Run the benchmark."""
    parser = options("scale_predictions", (__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", type=int, default=10, help="number of sets of coefficients (quick: 2)")
    parser.add_argument(
        "--programs", type=Path, nargs="*", default=[], help="results of `mpiric scale --json`"
    )
    return run("scale_predictions", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Predict all cases."""
    outcomes: dict[str, list[tuple[Case, list[tuple[float, bool]]]]] = {}
    for number in range(2 if arguments.quick else arguments.sets):
        for case in mechanisms(Random(1000 * arguments.seed + number)):
            for noise in _NOISES:
                for sizes in (_MEASURED[:-1], _MEASURED):
                    errors = predicted(case, sizes, noise, number)
                    outcomes.setdefault(case.mechanism, []).append((case, errors))
    for path in arguments.programs:
        for name, errors in held_back(path):
            outcomes.setdefault(name, []).append((Case(name, float), errors))
    rows = [row_of(name, cases) for name, cases in outcomes.items()]
    return Result(COLUMNS, rows, summary_of([pair for cases in outcomes.values() for pair in cases]))


def predicted(case: Case, sizes: Sequence[int], noise: float, seed: int) -> list[tuple[float, bool]]:
    """Return error and coverage of each prediction; empty if the case is refused."""
    random = Random(f"{case.mechanism} {seed} {noise} {len(sizes)}")

    def lab(run: Run) -> Trial:
        cores = int(run.configuration.as_dict()["ranks"])
        seconds = case.curve(cores) * exp(random.gauss(0.0, noise))
        return Trial(run.configuration, run.phase, Outcome.OK, seconds, seconds)

    def make_run(size: Size, block: int, limit_s: float) -> Run:
        return Run(Configuration.of({"ranks": str(size.ranks)}), Phase.SEARCH, block, limit_s)

    runs = SizeRuns(walls_s={Size(sizes[-1]): case.curve(sizes[-1])})
    study = [Size(ranks) for ranks in sizes], make_run, Budget(), case.is_weak
    drive(measure_sizes(SizesToMeasure(*study, seed=seed), runs), lab)
    points = [
        Point(size.cores, time_of(times).value, standard_error(times)) for size, times in runs.times.items()
    ]
    targets = {factor * sizes[-1]: case.curve(factor * sizes[-1]) for factor in _FACTORS}
    return compared(points, targets, is_weak=case.is_weak)


def compared(
    points: Sequence[Point], targets: dict[int, float], *, is_weak: bool
) -> list[tuple[float, bool]]:
    """Return the relative error of each prediction and whether its interval holds; empty if refused."""
    try:
        model = fit_model(points, is_weak=is_weak)
        intervals = {cores: model.predict(cores) for cores in targets}
    except NotPredictableError:
        return []
    return [
        (abs(interval.value / targets[cores] - 1), interval.low <= targets[cores] <= interval.high)
        for cores, interval in intervals.items()
    ]


def held_back(path: Path) -> list[tuple[str, list[tuple[float, bool]]]]:
    """Predict the largest measured size of a program from the others."""
    document = json.loads(path.read_text(encoding="utf-8"))
    rows = [row for row in document["sizes"] if not row["oversubscribed"]]
    points = [
        Point(row["cores"], row["time_s"], max(0.005, (row["high_s"] / row["low_s"] - 1) / 4)) for row in rows
    ]
    *smaller, largest = sorted(points, key=lambda point: point.cores)
    errors = compared(smaller, {largest.cores: largest.time_s}, is_weak=document["weak"])
    return [(f"program {path.stem}", errors)]


def row_of(name: str, cases: Sequence[tuple[Case, list[tuple[float, bool]]]]) -> dict[str, Any]:
    """Return the row of a mechanism."""
    errors = sorted(error for _, results in cases for error, _ in results)
    held = [is_held for _, results in cases for _, is_held in results]
    return {
        "mechanism": name,
        "cases": len(cases),
        "predicted": len(errors),
        "refused": sum(not results for _, results in cases),
        "error": round(median(errors), 3) if errors else None,
        "error_90": round(errors[int(0.9 * (len(errors) - 1))], 3) if errors else None,
        "covered": round(sum(held) / len(held), 3) if held else None,
    }


def summary_of(cases: Sequence[tuple[Case, list[tuple[float, bool]]]]) -> str:
    """Return the sentence under the table."""
    steady = [results for case, results in cases if not case.changes]
    changing = [results for case, results in cases if case.changes]
    results = [result for predictions in steady for result in predictions]
    refused = sum(not predictions for predictions in changing)
    return (
        f"{len(steady)} cases with one mechanism: median error {median(error for error, _ in results):.1%}, "
        f"{sum(is_held for _, is_held in results) / len(results):.0%} inside the 90 % interval, "
        f"{sum(not predictions for predictions in steady)} cases refused. "
        f"Mechanism changes between the sizes: {refused} of {len(changing)} cases refused."
    )


if __name__ == "__main__":
    sys.exit(main())
