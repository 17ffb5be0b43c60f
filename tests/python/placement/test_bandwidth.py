"""The half-core decision, from recorded measurements and without one."""

import json

import pytest
from tests.support.machines import DATA, cores_of, made_up, placed, recorded

from mpiric.model.placement import Bandwidth
from mpiric.placement.sizing import saturation_of, sweep


def table(name: str) -> tuple[Bandwidth, ...]:
    rows = json.loads((DATA / "bandwidth" / f"{name}.json").read_text())["bandwidth"]
    return tuple(Bandwidth(**row) for row in rows)


@pytest.mark.parametrize("name", ["betzy", "betzy_copy"])
def test_betzys_tables_come_out_as_8_of_16_every_second_core(name):
    saturation = saturation_of(table(name))
    assert (saturation.cores, saturation.spacing) == (8, 2)


def test_betzys_ranks_sit_on_every_second_core_of_each_numa_node():
    plan = placed(recorded("betzy"), 64, bandwidth_bound=True, measured=table("betzy"))
    assert plan.nodes == 1
    assert [core for cores in cores_of(plan) for core in cores] == list(range(0, 128, 2))
    assert [seat.numa for seat in plan.seats].count(3) == 8


def test_the_threads_of_a_hybrid_rank_sit_on_every_second_core_too():
    plan = placed(recorded("betzy"), 8, threads=8, bandwidth_bound=True, measured=table("betzy"))
    assert cores_of(plan)[1] == list(range(16, 32, 2))


def test_without_a_measurement_half_of_the_cores_are_used_and_called_a_rule_of_thumb():
    plan = placed(recorded("betzy"), 64, bandwidth_bound=True)
    assert cores_of(plan)[:3] == [[0], [2], [4]]
    assert any("rule of thumb" in note for note in plan.notes)


def test_more_ranks_use_more_nodes_and_the_cost_is_reported():
    plan = placed(recorded("betzy"), 128, bandwidth_bound=True, measured=table("betzy"))
    assert plan.nodes == 2
    price = next(note for note in plan.notes if "core-hours" in note)
    assert "256 core-hours instead of 128" in price
    assert f"{2 * 41844 / 39182:.2f} ×" in price


def test_a_given_number_of_nodes_is_kept_and_the_crowd_is_named():
    plan = placed(recorded("betzy"), 128, nodes=1, bandwidth_bound=True, measured=table("betzy"))
    assert plan.nodes == 1
    assert any("64 saturate" in note for note in plan.notes)


def test_fewer_cores_win_unless_they_cost_more_than_a_twentieth():
    close = (Bandwidth(4, 1, 96.0), Bandwidth(8, 1, 100.0))
    saturated = (Bandwidth(4, 1, 94.0), Bandwidth(8, 1, 100.0))
    assert saturation_of(close).cores == 4
    assert saturation_of(saturated).cores == 8


def test_where_every_core_adds_bandwidth_all_are_used():
    measured = tuple(Bandwidth(n, 1, 10.0 * n) for n in (1, 2, 4))
    assert len(placed(made_up(4), 4, bandwidth_bound=True, measured=measured).seats) == 4


def test_measurements_of_a_whole_node_do_not_decide_about_a_numa_node():
    assert saturation_of((Bandwidth(64, 2, 334266.0, "node"),)) is None


@pytest.mark.parametrize("cores", [1, 2, 3, 16, 72])
def test_a_sweep_never_uses_missing_cores(cores):
    assert all((number - 1) * spacing < cores for number, spacing in sweep(cores))
    assert (cores, 1) in sweep(cores)
