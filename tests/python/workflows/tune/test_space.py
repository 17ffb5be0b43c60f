"""Which knobs a tune may set."""

from dataclasses import replace

import pytest
from tests.support.situations import MPIS, machine, situation

from mpiric.model.configuration import Configuration
from mpiric.model.job import LaunchOption, Meaning
from mpiric.model.situation import Tuner
from mpiric.workflows.tune.space import is_worth_a_run, requested_space
from mpiric.workflows.tune.state import TuneRequest

OPENMPI = next(library for library in MPIS if library.label == "openmpi-5.0.11")


def _offered(nodes: int, *, site: bool) -> dict[str, tuple[str, ...]]:
    space = requested_space(
        TuneRequest((), "", {}, try_all=True, site=site), situation(OPENMPI, ranks=4, nodes=nodes)
    )
    return {dimension.knob: dimension.values for dimension in space.dimensions}


def test_site_defaults_contain_no_settings_that_depend_on_the_program():
    assert "malloc" in _offered(1, site=False)
    assert "malloc" not in _offered(1, site=True)


def test_a_single_node_says_nothing_of_networks_to_a_whole_site():
    assert "shared-memory-only" in _offered(1, site=False)["node-transport"]
    assert "node-transport" not in _offered(1, site=True)
    assert "network-library" not in _offered(1, site=True)
    assert "network-library" in _offered(2, site=True)


def test_current_settings_are_not_tried():
    parameters = {"pml": "ob1", "btl": "self,sm"}
    set_so = tuple(
        LaunchOption(("--mca", *parameter), Meaning.MPI_PARAMETER, parameter)
        for parameter in parameters.items()
    )
    space = requested_space(TuneRequest((), "", {}, try_all=True), situation(OPENMPI, options=set_so))
    tried = {dimension.knob for dimension in space.dimensions}
    assert "node-transport" not in tried
    assert "network-library" in tried


@pytest.mark.parametrize("knob", [{"malloc": "keep-memory"}, {"huge-pages": "transparent"}])
def test_settings_of_glibcs_allocator_are_not_tried_with_another_one(knob: dict[str, str]):
    assert is_worth_a_run(Configuration.of(knob), situation(OPENMPI))
    assert not is_worth_a_run(Configuration.of({**knob, "allocator": "jemalloc"}), situation(OPENMPI))


@pytest.mark.parametrize(
    ("values", "nodes", "worth"),
    [
        ({"node-transport": "shared-memory-only"}, 1, True),
        ({"node-transport": "shared-memory-only", "network-library": "own"}, 1, False),
        ({"node-transport": "shared-memory-only", "ucx-transports": "node"}, 1, False),
        ({"network-library": "own", "ucx-transports": "all"}, 1, False),
        ({"network-library": "own", "ucx-transports": "all"}, 2, True),
        ({"network-library": "ucx", "ucx-transports": "all"}, 1, True),
    ],
)
def test_ucx_settings_are_not_tried_with_a_transport_without_ucx(
    values: dict[str, str], nodes: int, worth: bool
):
    libraries = ("/usr/lib/libucp.so.0",)
    case = situation(OPENMPI, nodes=nodes, ranks=2 * nodes, libraries=libraries)
    assert is_worth_a_run(Configuration.of(values), case) is worth


@pytest.mark.parametrize(
    ("values", "worth"),
    [
        ({"bcast-algorithm": "pipeline"}, True),
        ({"collectives": "policy"}, True),
        ({"collectives": "policy", "bcast-algorithm": "pipeline"}, False),
        ({"collectives": "exported", "bcast-algorithm": "pipeline"}, False),
        ({"collectives": "policy", "alltoall-algorithm": "pairwise"}, True),
        ({"collectives": "online", "bcast-algorithm": "pipeline"}, True),
    ],
)
def test_an_algorithm_for_a_collective_is_not_tried_with_a_policy_for_it(values: dict[str, str], worth: bool):
    tuner = Tuner("/l.so", "/p", (("A", "b"),), "/e", covered=frozenset({"bcast"}))
    case = replace(situation(OPENMPI), tuner=tuner)
    assert is_worth_a_run(Configuration.of(values), case) is worth


@pytest.mark.parametrize(("threads", "worth"), [("1", False), ("4", True)])
def test_waiting_of_threads_is_not_tried_with_a_single_thread(threads: str, worth: bool):
    case = situation(
        on=machine(1, 8), libraries=("/usr/lib/libgomp.so.1",), inherited={"OMP_NUM_THREADS": "8"}
    )
    assert is_worth_a_run(Configuration.of({"omp-threads": threads, "omp-wait": "passive"}), case) is worth
