"""Compare windows with whole runs: the ratio of two configurations between two marks, and over all steps.

Programs run to their end, unchanged and configured, in random order, with all their marks timed. The same
runs give the ratio of the window (at most a fifth of the steps), the ratio of all steps, and the forecast of
the whole run from start-up and window. A row is right if the window's ratio is within 2 % of the ratio of all
steps, or if the interval of one contains the other. It is good if the median of forecast ÷ run is within 5 %
of 1.
"""

import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from random import Random
from statistics import median
from typing import Any

from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._mark_programs import MarkProgram, offer_sources, programs
from benchmarks._marked import AS_IT_IS, MarkedProgram, MarkedRun, marked_program
from benchmarks._programs import Bed, releases
from benchmarks._report import Result, options, run, tell
from benchmarks._statistics import ratio
from mpiric.model.configuration import Configuration
from mpiric.model.errors import NotFoundError
from mpiric.model.pace import MarkPair
from mpiric.model.run import Outcome
from mpiric.tuning.mark_split import UNREACHED, pace_of, per_mark_s

_SETTINGS = tuple(
    Configuration.of(values)
    for values in (
        {"binding": "none"},
        {"binding": "core"},
        {"malloc": "keep-memory"},
        {"waiting": "yield"},
        {"eager-node": "4KiB"},
    )
)
_NEAR, _FORECAST_NEAR = 0.02, 0.05
_SHARE, _FEWEST_STEPS = 0.2, 17  # window: fraction of the steps, and minimum number

COLUMNS = {
    "program": "program",
    "library": "library",
    "configuration": "configuration",
    "rounds": "rounds",
    "run_s": "a run s",
    "window": "window, of all steps",
    "all_steps": "all steps",
    "all_interval": "interval",
    "by_window": "by the window",
    "window_interval": "its interval",
    "right": "within 2 % or inside",
    "forecast": "forecast ÷ run",
    "good": "within 5 %",
}


def main() -> int:
    """Compare programs one by one."""
    parser = options("windows", (__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", help="only programs whose name contains this")
    parser.add_argument("--rounds", type=int, help="runs of each configuration (default 7, quick 3)")
    offer_parts(parser)
    offer_sources(parser)
    return run("windows", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Measure a row for each program, library and configuration."""
    table = KeptRows("windows", arguments)
    rounds = arguments.rounds or (3 if arguments.quick else 7)
    for program in programs(arguments.sources, arguments.only or ()):
        for prefix, bed in releases(program.libraries if program.meaning else ()).items():
            table.add(f"{program.name}, {prefix}", partial(_rows, program, bed, rounds, arguments.seed))
    rows = table.rows
    right, good = (sum(row[key] for row in rows) for key in ("right", "good"))
    return Result(
        COLUMNS,
        rows,
        f"of {len(rows)} programs × configurations {right} have the same ratio by the window as by all steps "
        f"(within 2 % or inside the interval), and {good} a forecast within 5 %.{table.remark}",
    )


def _rows(program: MarkProgram, bed: Bed, rounds: int, seed: int) -> Iterator[dict[str, Any]]:
    argv, inputs = program.command(bed)
    with marked_program(argv, bed, inputs) as marked:
        learned = marked.learn()
        pair = learned.pair
        if pair is None:
            raise NotFoundError("no marks were found")
        # Of these short programs a tune's window of a second would be most of the run: nothing to be shown.
        steps = max(_FEWEST_STEPS, int(_SHARE * learned.calls_of(pair)))
        pair = replace(pair, last=min(pair.last, pair.first + steps))
        settings = [setting for setting in _SETTINGS if marked.can(setting)]
        runs = _in_turns(marked, pair, [AS_IT_IS, *settings], rounds, seed)
    for setting in settings:
        if len(runs[setting]) == rounds and len(runs[AS_IT_IS]) == rounds:
            row = row_of(pair, runs[AS_IT_IS], runs[setting])
            yield {
                "program": program.name,
                "library": bed.mpi.label,
                "configuration": str(setting),
                "rounds": rounds,
                **row,
            }
            tell(f"{program.name} {bed.mpi.label} {setting} {row}")


# Time per step (all, window), forecast, run, share of steps.
_Times = tuple[float, float, float, float, float]


def _in_turns(
    marked: MarkedProgram, pair: MarkPair, configurations: list[Configuration], rounds: int, seed: int
) -> dict[Configuration, list[_Times]]:
    """Run the configurations to their end, in rounds of random order."""
    random = Random(f"windows {seed}")
    runs: dict[Configuration, list[_Times]] = {configuration: [] for configuration in configurations}
    pair_to_end = MarkPair(pair.key, pair.first, UNREACHED, pair.on_rank_0_alone)
    for _ in range(rounds):
        for configuration in random.sample(configurations, len(configurations)):
            marked_run = marked.run(pair_to_end, configuration, ends=False)
            times = _times(marked_run, pair) if marked_run.execution.outcome is Outcome.OK else None
            if times is not None:
                runs[configuration].append(times)
    return runs


def _times(marked_run: MarkedRun, pair: MarkPair) -> _Times | None:
    pace = pace_of(marked_run.marks, pair)
    window_s, all_s = per_mark_s(pace, pair.first, pair.last), per_mark_s(pace, 1)
    if (
        pace is None
        or window_s is None
        or all_s is None
        or marked_run.split is None
        or marked_run.split.main_s is None
    ):
        return None
    split = marked_run.split
    # As a tune has it: start-up is all before the first step, the end what follows MPI_Finalize.
    start_s = split.start_s + pace.time_of(pair.first) - pair.first * window_s
    forecast_s = start_s + pace.calls * window_s + (split.end_s or 0.0)
    steps = (pair.last - pair.first) / max(1, pace.calls)
    return all_s, window_s, forecast_s, marked_run.execution.wall_s, steps


def row_of(pair: MarkPair, original: list[_Times], configured: list[_Times]) -> dict[str, Any]:
    """Ratios of window and of all steps over the same runs, and the forecast of these."""
    by_all = ratio([times[0] for times in original], [times[0] for times in configured])
    by_window = ratio([times[1] for times in original], [times[1] for times in configured])
    forecast = median(times[2] / times[3] for times in (*original, *configured))
    near = abs(by_window.middle / by_all.middle - 1) <= _NEAR
    inside = by_all.low <= by_window.middle <= by_all.high or by_window.low <= by_all.middle <= by_window.high
    return {
        "run_s": round(median(times[3] for times in original), 2),
        "window": f"{pair.first}–{pair.last}, {median(times[4] for times in original):.0%}",
        "all_steps": round(by_all.middle, 3),
        "all_interval": by_all.interval,
        "by_window": round(by_window.middle, 3),
        "window_interval": by_window.interval,
        "right": near or (by_all.interval is not None and inside),
        "forecast": round(forecast, 3),
        "good": abs(forecast - 1) <= _FORECAST_NEAR,
    }


if __name__ == "__main__":
    sys.exit(main())
