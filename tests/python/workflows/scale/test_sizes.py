"""Sizes of a study on one node and on several."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from tests.support.recorded_tune import COMMAND, MACHINE
from tests.support.replay_host import ReplayHost

from mpiric.model.scaling import Size
from mpiric.model.situation import EVERYTHING
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.scale.request import ScaleRequest
from mpiric.workflows.scale.sizes import Launches, launches_of, sized
from mpiric.workflows.trials.expected import expected_situation

HOST, OWN = ReplayHost.load(MACHINE), Size(2)


def launches(own_size=OWN, nodes=1, cpus=8, **options):
    machine = SimpleNamespace(usable_cores=range(cpus))
    situation = SimpleNamespace(cpus_per_node=cpus, machine=machine)
    request = ScaleRequest(COMMAND, "/", {}, **options)
    return Launches(request, situation, own_size, nodes, nodes > 1, sets_threads=False)


def test_powers_of_two_and_the_users_own_size():
    assert [size.ranks for size in launches(Size(6)).sizes()] == [1, 2, 4, 6, 8]


def test_ranks_fill_nodes_as_in_the_users_command():
    sizes = launches(Size(32, 4), nodes=4).sizes()
    assert [(size.ranks, size.nodes) for size in sizes] == [(1, 1), (2, 1), (4, 1), (8, 1), (16, 2), (32, 4)]


def test_nodes_have_as_many_ranks_as_in_the_users_command():
    study = replace(launches(Size(32, 4), nodes=4), request=ScaleRequest(COMMAND, "/", {}, nodes=(1, 3)))
    assert study.sizes() == [Size(8, 1), Size(24, 3)]


def test_threads_divide_the_ranks():
    sizes = launches(threads=(1, 4)).sizes()
    assert [size.ranks for size in sizes if size.threads == 4] == [1, 2]


def test_placeholders_are_replaced():
    assert sized(("-x", "{ranks}", "in.{nodes}x{threads}"), Size(8, 2, 3)) == ("-x", "8", "in.2x3")


def test_a_size_between_two_others_fills_whole_nodes():
    between = launches(Size(32, 4), nodes=4).between
    assert between(Size(16, 2), Size(32, 4)) == Size(24, 3)


def test_requested_sizes_are_not_refined():
    assert launches(ranks=(1, 8)).between(Size(1), Size(8)) is None


def test_more_nodes_than_available_are_refused():
    why_not = launches(Size(32, 4), nodes=4).why_not
    assert why_not(Size(64, 8)) == "it needs 8 nodes, and 4 are available"


def test_a_size_is_launched_with_its_ranks():
    parsed = parse_job(COMMAND, HOST, str(Path.cwd()), {"PATH": "/usr/bin:/bin"})
    study = launches_of(ScaleRequest(COMMAND, "/", {}), expected_situation(parsed, HOST, EVERYTHING), HOST)
    assert study.situation_at(Size(1)).job.ranks == 1
