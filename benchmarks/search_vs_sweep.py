"""Loss of the search compared with an exhaustive sweep, with a tenth of its runs.

One real program, up to 256 configurations of knobs that apply to it. The sweep runs all of them several
times, each pass in a new random order. Between the passes the search runs with a tenth of the runs of one
pass, and with a tenth of all passes. The best few of the sweep are measured again, and the winner is compared
with the answers of the searches and with the original in fresh rounds.
"""

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from math import inf
from random import Random
from typing import Any

from benchmarks._programs import bed
from benchmarks._report import Result, options, run, tell
from benchmarks._search_trail import right_after
from benchmarks._statistics import best_of, ratio
from benchmarks._workbench import Workbench, workbench
from mpiric.lab.lab import drive
from mpiric.lab.render import can_be_written
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.run import Outcome, Phase, Run, Trial
from mpiric.plans.evaluator import Evaluator
from mpiric.plans.search import search
from mpiric.statistics.confidence_sequence import centre
from mpiric.statistics.space import SearchSpace
from mpiric.tuning.objective import Budget
from mpiric.workflows.tune.space import requested_space
from mpiric.workflows.tune.state import TuneRequest

_GOAL = 0.02
_EFFECT = 0.01  # minimum contribution of a setting, as in a proof
_TENTH = 0.1
_RUN_OFF = 5  # number of best configurations that are measured again
_PATIENCE = 4.0  # a run may take this many times as long as the original
# Knobs with and without effect on the program, taken in this order while the space is small enough.
_KNOBS = (
    *("malloc", "huge-pages", "binding", "collectives", "single-copy", "allocator"),
    *("eager-node", "allreduce-algorithm"),
)
_WORK, _QUICK_WORK = (96, 30), (64, 5)

COLUMNS = {
    "who": "who",
    "runs": "runs",
    "share": "of a pass",
    "configuration": "configuration",
    "median_s": "median s",
    "gain": "original ÷ it",
    "loss": "slower than the sweep's best",
    "loss_ci95": "95 %",
    "right_after": "right after",
    "superfluous": "superfluous",
}


def main() -> int:
    """Sweep, search and compare."""
    parser = options("search_vs_sweep", "How far is the search from the best of an exhaustive sweep?")
    parser.add_argument("--most", type=int, help="configurations (default 256, quick 16)")
    parser.add_argument("--passes", type=int, help="of the sweep (default 5, quick 2)")
    parser.add_argument("--rounds", type=int, help="of the comparison at the end (default 30, quick 5)")
    parser.add_argument("--mpi", default="mpich", help="MPI implementation (default mpich)")
    return run("search_vs_sweep", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Run the complete comparison on one program."""
    passes = arguments.passes or (2 if arguments.quick else 5)
    rounds = arguments.rounds or (5 if arguments.quick else 30)
    own_bed = bed(arguments.mpi)
    with workbench(own_bed.line(2, "heat3d", *(_QUICK_WORK if arguments.quick else _WORK)), own_bed) as bench:
        request = TuneRequest((), "", {}, try_all=True)
        space = requested_space(request, bench.situation)
        space = within(space, arguments.most or (16 if arguments.quick else 256))
        tell(f"{space.size} configurations of {', '.join(d.knob for d in space.dimensions)}")
        sweep = Sweep(bench, space, arguments.seed)
        configuration_of: dict[str, Configuration] = {}
        trails: dict[str, list[Trial]] = {}
        for number in range(passes):
            sweep.one_pass()
            tell(f"pass {number + 1} of {passes}: {sweep.runs} runs, {len(sweep.rejected)} rejected")
            for name, runs in budgets(space.size, passes).items():
                if name not in configuration_of and number == min(len(configuration_of), passes - 1):
                    configuration_of[name], trails[name] = _search(bench, space, runs, arguments.seed)
        sides = {"original": Configuration(), "sweep": sweep.best(rounds)}
        sides |= configuration_of
        times = _rounds(bench, sides, rounds, arguments.seed)
    runs_of = {"sweep": sweep.runs, **{name: len(trials) for name, trials in trails.items()}}
    medians = sweep.medians()
    rows = [
        row_of(name, sides[name], times, runs_of.get(name), space.size)
        | {
            "right_after": right_after(trails.get(name, ()), partial(is_near_best, medians)),
            "superfluous": superfluous(sides[name], medians) if name != "original" else None,
        }
        for name in sides
    ]
    facts = {
        "mpi": own_bed.mpi.label,
        "space": {dimension.knob: list(dimension.values) for dimension in space.dimensions},
        "configurations": space.size,
        "rejected": {str(configuration): why for configuration, why in sweep.rejected.items()},
        "sweep_medians_s": {
            str(configuration): centre(seconds) for configuration, seconds in sweep.times.items()
        },
        "times_s": times,
    }
    return Result(COLUMNS, rows, summary_of(rows, space.size), facts)


def is_near_best(medians: Mapping[Configuration, float], configuration: Configuration) -> bool:
    """Return whether the sweep's time of a configuration is within the goal of the fastest."""
    fastest = min(medians.values())
    return medians.get(configuration, inf) <= (1 + _GOAL) * fastest


def superfluous(configuration: Configuration, medians: Mapping[Configuration, float]) -> int | None:
    """Settings without which the sweep's runs are not slower by the least effect; None where it has none."""
    if configuration not in medians:
        return None
    without = (
        Configuration(tuple(item for item in configuration.items if item != left_out))
        for left_out in configuration.items
    )
    slower = (1 + _EFFECT) * medians[configuration]
    return sum(medians.get(reduced, inf) < slower for reduced in without)


def within(space: SearchSpace, limit: int) -> SearchSpace:
    """Return the space of the first knobs that together have at most ``limit`` configurations."""
    by_name = {dimension.knob: dimension for dimension in space.dimensions}
    selected = SearchSpace()
    for name in (name for name in _KNOBS if name in by_name):
        larger = SearchSpace((*selected.dimensions, by_name[name]))
        selected = larger if larger.size <= limit else selected
    if selected.size < 4:
        raise MpiricError(f"only {selected.size} configurations apply here", hint="a larger --most")
    return selected


def budgets(size: int, passes: int) -> dict[str, int]:
    """Return name → number of runs of a search: a tenth of one pass, and a tenth of all passes."""
    shorter = max(4, int(size * _TENTH))
    every = max(4, int(size * passes * _TENTH))
    return {"search": shorter} | ({"search, longer": every} if every > shorter else {})


class Sweep:
    """Every configuration of a space, several times."""

    def __init__(self, bench: Workbench, space: SearchSpace, seed: int) -> None:
        self._bench, self._random, self._seed = bench, Random(f"sweep {seed}"), seed
        levels = [range(len(factor.values) + 1) for factor in space.factors]
        self._configurations = [space.configuration(point) for point in product(*levels)]
        self.times: dict[Configuration, list[float]] = {
            configuration: [] for configuration in self._configurations
        }
        self.rejected: dict[Configuration, str] = {}
        self.runs = 0

    def one_pass(self) -> None:
        """Run each configuration once, in a new order, except the ones that have failed before."""
        remaining = [
            configuration for configuration in self._configurations if configuration not in self.rejected
        ]
        for configuration in self._random.sample(remaining, len(remaining)):
            self.runs += 1
            trial = self._bench.run(configuration, Phase.SEARCH, limit_s(self._bench))
            if trial.outcome is Outcome.OK and trial.objective is not None:
                self.times[configuration].append(trial.objective)
            else:
                self.rejected[configuration] = trial.reason or trial.outcome.value

    def medians(self) -> dict[Configuration, float]:
        """Return configuration → median time, without the ones that failed."""
        return {
            configuration: centre(times)
            for configuration, times in self.times.items()
            if configuration not in self.rejected
        }

    def best(self, rounds: int) -> Configuration:
        """Return the winner of a second comparison of the best; the minimum of many medians is biased."""
        medians = self.medians()
        first = sorted(medians, key=lambda configuration: medians[configuration])[:_RUN_OFF]
        sides = {str(number): configuration for number, configuration in enumerate(first)}
        self.runs += rounds * len(sides)
        return sides[best_of(_rounds(self._bench, sides, rounds, self._seed + 1))]


def limit_s(bench: Workbench) -> float:
    """Return the time limit of a run in seconds."""
    return _PATIENCE * bench.situation.observation.wall_s + 1.0


def _search(bench: Workbench, space: SearchSpace, runs: int, seed: int) -> tuple[Configuration, list[Trial]]:
    """Return the search's candidate for the proof, and all runs including the observed originals."""
    originals = bench.originals
    trials = list(originals)
    budget = Budget(runs=max(1, runs - len(originals)))

    def try_out(run: Run) -> Trial:
        limit = limit_s(bench) if run.limit_s is None else min(run.limit_s, limit_s(bench))
        trials.append(bench.run(run.configuration, run.phase, limit))
        return trials[-1]

    evaluator = Evaluator(
        space,
        budget,
        originals,
        feasible=lambda configuration: can_be_written(configuration, bench.situation),
    )
    result = drive(search(evaluator, seed=seed), try_out)
    best = result.candidates[0].configuration if result.candidates else Configuration()
    tell(f"search with {runs} runs: {best}")
    return best, trials


def _rounds(
    bench: Workbench, sides: Mapping[str, Configuration], rounds: int, seed: int
) -> dict[str, list[float]]:
    """Return name → times; each round runs all sides once in random order. Raises MpiricError on failure."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    random = Random(f"rounds {seed}")
    for number in range(rounds):
        for name in random.sample(list(sides), len(sides)):
            trial = bench.run(sides[name], Phase.PROOF, limit_s(bench), number)
            if trial.objective is None:
                raise MpiricError(f"{sides[name]} failed in the comparison: {trial.reason}")
            times[name].append(trial.objective)
    return times


def row_of(
    name: str, configuration: Configuration, times: Mapping[str, Sequence[float]], runs: int | None, size: int
) -> dict[str, Any]:
    """Return one row of the table."""
    loss = ratio(times[name], times["sweep"])
    compared = name != "sweep"
    return {
        "who": name,
        "runs": runs,
        "share": f"{runs / size:.0%}" if runs else None,
        "configuration": str(configuration),
        "median_s": round(centre(times[name]), 4),
        "gain": round(ratio(times["original"], times[name]).middle, 3),
        "loss": round(loss.middle - 1, 4) if compared else None,
        "loss_ci95": [round(end - 1, 4) for end in loss.interval] if compared and loss.interval else None,
    }


def summary_of(rows: Sequence[Mapping[str, Any]], size: int) -> str:
    """Compare each search with the goal."""
    sentences = [
        f"{row['who']}: {row['loss']:+.1%} with {row['runs']} runs, {row['share']} of a pass "
        f"({'within' if row['loss'] <= _GOAL else 'misses'} {_GOAL:.0%})"
        for row in rows
        if row["who"].startswith("search")
    ]
    return f"{size} configurations. {'; '.join(sentences)}."


if __name__ == "__main__":
    sys.exit(main())
