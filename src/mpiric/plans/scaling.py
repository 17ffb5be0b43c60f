"""Runs of a scaling study: blocks that contain each size once, in random order.

Blocks are made until the intervals of all times are narrow, or the budget ends. After each of
the first blocks a size is added where the curve bends, if the sizes may be refined.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import field
from random import Random

from mpiric.model.amount import seconds
from mpiric.model.dataclass import dataclass
from mpiric.model.run import Outcome, Plan, Run, Trial
from mpiric.model.scaling import Size
from mpiric.statistics.scaling_estimates import bend_of, half_width, time_of
from mpiric.tuning.objective import Budget

_FEWEST_BLOCKS, _MOST_BLOCKS = 3, 12
_NARROW = 0.03  # half width of an interval, relative to the time, below which no more blocks are made
_PATIENCE, _SLACK_S = 5.0, 20.0  # time limit of a run: factor of the expected time, plus slack
_MOST_REFINED = 2  # number of blocks after which a size may be added


@dataclass
class SizeRuns:
    """Runs of all sizes so far."""

    undisturbed: dict[Size, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    disturbed: dict[Size, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    walls_s: dict[Size, float] = field(default_factory=dict)  # longest run of a size
    failed: dict[Size, Trial] = field(default_factory=dict)
    left_out: dict[Size, str] = field(default_factory=dict)  # sizes that do not fit into the budget
    splits: dict[Size, Trial] = field(default_factory=dict)  # last successful trial
    core_s: float = 0.0  # core-seconds of all runs
    interrupted: bool = False

    @property
    def times(self) -> dict[Size, dict[int, float]]:
        """Return the time of each size by block; without disturbed runs if there are enough others."""
        times = {}
        for size in {**self.undisturbed, **self.disturbed}:
            undisturbed = self.undisturbed.get(size, {})
            is_enough = len(undisturbed) >= _FEWEST_BLOCKS
            times[size] = undisturbed if is_enough else {**undisturbed, **self.disturbed.get(size, {})}
        return times

    def expected_s(self, size: Size, *, is_weak: bool) -> float:
        """Return the expected wall time: of the size, else of the nearest one, more for fewer cores."""
        if size in self.walls_s:
            return self.walls_s[size]
        nearest = min(self.walls_s, key=lambda other: abs(other.cores - size.cores) / other.cores)
        factor = 1.0 if is_weak else max(1.0, nearest.cores / size.cores)
        return self.walls_s[nearest] * factor


MakeRun = Callable[[Size, int, float], Run]  # size, block and time limit


@dataclass(frozen=True)
class SizesToMeasure:
    """Sizes of a study, and how they are run."""

    sizes: Sequence[Size]
    make_run: MakeRun
    budget: Budget
    is_weak: bool = False
    # Returns a size between two measured ones, None if there is none.
    refine: Callable[[Size, Size], Size | None] = lambda _small, _large: None
    seed: int = 0  # seed of the random order


def measure_sizes(study: SizesToMeasure, runs: SizeRuns) -> Plan[None]:
    """Measure the sizes into ``runs``, which holds the wall time of at least one size.

    A size that fails is not run again. An interruption ends the measurements.
    """
    budget, is_weak = study.budget, study.is_weak
    random, sizes = Random(study.seed), list(study.sizes)  # noqa: S311
    for block in range(_MOST_BLOCKS):
        if block >= _FEWEST_BLOCKS and all(
            half_width(time_of(times)) <= _NARROW
            for size, times in runs.times.items()
            if size not in runs.failed
        ):
            break
        pending = [size for size in sizes if size not in runs.failed and size not in runs.left_out]
        for size in random.sample(pending, len(pending)):
            expected_s = runs.expected_s(size, is_weak=is_weak)
            if not budget.fits(expected_s):
                if size not in runs.times:
                    runs.left_out[size] = f"a run of about {seconds(expected_s)} does not fit into the budget"
                continue
            try:
                trial = yield study.make_run(size, block, _PATIENCE * expected_s + _SLACK_S)
            except KeyboardInterrupt:
                runs.interrupted = True
                return
            budget.spend(trial.runs)
            runs.core_s += size.cores * trial.wall_s
            if trial.outcome is Outcome.OK and trial.objective is not None and trial.objective > 0:
                times = runs.disturbed if trial.disturbed else runs.undisturbed
                times[size][block] = trial.objective
                runs.walls_s[size] = max(trial.wall_s, runs.walls_s.get(size, 0.0))
                runs.splits[size] = trial
            elif trial.outcome is not Outcome.INTERRUPTED:
                runs.failed[size] = trial
        if not any(block in times for times in (*runs.undisturbed.values(), *runs.disturbed.values())):
            break
        if block < _MOST_REFINED and (added := _size_at_bend(study, runs)):
            sizes.append(added)


def _size_at_bend(study: SizesToMeasure, runs: SizeRuns) -> Size | None:
    """Return a new size between the two sizes where the curve bends; None without a bend."""
    sizes = sorted(runs.times, key=lambda size: size.cores)
    points = [(size.cores, time_of(runs.times[size]).value) for size in sizes]
    bend = bend_of(points, is_weak=study.is_weak)
    size = study.refine(sizes[bend[0]], sizes[bend[1]]) if bend else None
    return None if size in sizes or size in runs.failed else size
