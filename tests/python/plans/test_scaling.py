"""Blocks of a scaling study, answered by curves."""

from dataclasses import replace
from math import exp
from random import Random

from mpiric.lab.lab import LoggedTrials, drive
from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Run, Trial
from mpiric.model.scaling import Size
from mpiric.plans.scaling import SizeRuns, SizesToMeasure, measure_sizes
from mpiric.tuning.objective import Budget

SIZES = [Size(ranks) for ranks in (1, 2, 4, 8)]


class CurveLab:
    """Lab whose runs take the time of a curve, by a clock of its own."""

    def __init__(self, curve, noise=0.0, failing=()):
        self.curve, self.noise, self.failing = curve, noise, failing
        self.now_s, self.random, self.runs = 0.0, Random(1), []

    def clock(self):
        return self.now_s

    def measure(self, run):
        ranks = int(run.configuration.as_dict()["ranks"])
        self.runs.append((ranks, run.pair))
        if ranks in self.failing:
            return Trial(run.configuration, run.phase, Outcome.FAILED, 0.1, reason="exited with status 1")
        seconds = self.curve(ranks) * exp(self.random.gauss(0.0, self.noise))
        self.now_s += seconds
        return Trial(run.configuration, run.phase, Outcome.OK, seconds, seconds, pair=run.pair)


def make_run(size, block, limit_s):
    return Run(Configuration.of({"ranks": str(size.ranks)}), Phase.SEARCH, block, limit_s)


def study(lab, budget_s=None, sizes=SIZES, logged=(), **options):
    runs = SizeRuns(walls_s={Size(8): lab.curve(8)})
    budget = Budget(budget_s, clock=lab.clock)
    plan = measure_sizes(SizesToMeasure(sizes, make_run, budget, **options), runs)
    drive(plan, lab.measure, logged=LoggedTrials(logged))
    return runs


def ideal(ranks):
    return 8 / ranks


def test_a_block_contains_each_size_once():
    lab = CurveLab(ideal)
    study(lab)
    assert all(sorted(r for r, block in lab.runs if block == number) == [1, 2, 4, 8] for number in range(3))


def test_the_order_differs_between_blocks():
    lab = CurveLab(ideal)
    study(lab)
    orders = {tuple(r for r, block in lab.runs if block == number) for number in range(3)}
    assert len(orders) > 1


def test_three_blocks_suffice_without_noise():
    lab = CurveLab(ideal)
    study(lab)
    assert len(lab.runs) == 12


def test_noise_needs_more_blocks():
    lab = CurveLab(ideal, noise=0.05)
    study(lab)
    assert len(lab.runs) > 12


def test_a_size_that_fails_is_not_run_again():
    lab = CurveLab(ideal, failing={2})
    runs = study(lab)
    assert [ranks for ranks, _ in lab.runs].count(2) == 1
    assert set(runs.failed) == {Size(2)}
    assert set(runs.times) == {Size(1), Size(4), Size(8)}


def test_a_size_that_takes_too_long_is_left_out_with_a_reason():
    runs = study(CurveLab(ideal), budget_s=7.0)
    assert runs.left_out[Size(1)] == "a run of about 8 s does not fit into the budget"
    assert Size(8) in runs.times


def test_the_budget_ends_the_blocks():
    lab = CurveLab(ideal, noise=0.1)
    study(lab, budget_s=40.0)
    assert lab.now_s <= 40.0


def test_a_size_is_added_where_the_curve_bends():
    def middle(small, large):
        return Size((small.ranks + large.ranks) // 2)

    runs = study(CurveLab(lambda ranks: 8 / min(ranks, 4)), refine=middle)
    assert Size(6) in runs.times


def test_no_size_is_added_to_a_straight_curve():
    runs = study(CurveLab(ideal), refine=lambda small, large: Size(3))
    assert set(runs.times) == set(SIZES)


def test_logged_runs_are_not_made_again():
    first = CurveLab(ideal)
    trials = []
    runs = SizeRuns(walls_s={Size(8): 1.0})
    drive(measure_sizes(SizesToMeasure(SIZES, make_run, Budget()), runs), first.measure, trials.append)
    second = CurveLab(ideal)
    again = study(second, logged=trials)
    assert second.runs == []
    assert again.times == runs.times


def test_an_interruption_keeps_the_times():
    lab = CurveLab(ideal)

    def measure(run):
        if len(lab.runs) == 6:
            raise KeyboardInterrupt
        return lab.measure(run)

    runs = SizeRuns(walls_s={Size(8): 1.0})
    drive(measure_sizes(SizesToMeasure(SIZES, make_run, Budget()), runs), measure)
    assert runs.interrupted
    assert set(runs.times) == set(SIZES)


def test_a_run_of_fewer_ranks_gets_more_time():
    limits = {}

    def measure(run):
        limits[run.configuration.as_dict()["ranks"]] = run.limit_s
        return CurveLab(ideal).measure(run)

    drive(measure_sizes(SizesToMeasure(SIZES, make_run, Budget()), SizeRuns(walls_s={Size(8): 1.0})), measure)
    assert limits["1"] > limits["8"]


def test_disturbed_runs_do_not_count_beside_three_others():
    lab = CurveLab(ideal, noise=0.02)

    def measure(run):
        trial = lab.measure(run)
        return replace(trial, objective=3 * trial.objective, disturbed=True) if run.pair == 1 else trial

    runs = SizeRuns(walls_s={Size(8): 1.0})
    drive(measure_sizes(SizesToMeasure(SIZES, make_run, Budget()), runs), measure)
    assert all(1 not in times for times in runs.times.values())


def test_where_all_runs_are_disturbed_they_count():
    runs = SizeRuns(walls_s={Size(8): 1.0})

    def measure(run):
        return replace(CurveLab(ideal).measure(run), disturbed=True)

    drive(measure_sizes(SizesToMeasure(SIZES, make_run, Budget()), runs), measure)
    assert runs.times[Size(8)] == {0: 1.0, 1: 1.0, 2: 1.0}
