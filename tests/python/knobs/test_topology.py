"""The topology in a file, where hwloc reads it slowly."""

from dataclasses import replace

import pytest
from tests.support.situations import MPIS, machine, situation

from mpiric.knobs import consider, knob_named
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.knob import Skip, Try
from mpiric.model.situation import Situation

XML = '<?xml version="1.0"?><topology/>'


def described(took_s: float, nodes: int = 1, **environment: str) -> Situation:
    host = machine(cores=2)
    case = situation(
        MPIS[0], ranks=2, nodes=nodes, on=replace(host, topology=replace(host.topology, xml=XML))
    )
    job = replace(case.job, environment={**case.job.environment, **environment})
    return replace(case, job=job, hint_directory="/home/u/hints", time_topology=lambda: took_s)


def answer(case: Situation) -> Skip | Try:
    return consider(knob_named("topology"), case)


def test_a_topology_that_hwloc_reads_slowly_is_tried_as_a_file():
    tried = answer(described(1.5))
    assert isinstance(tried, Try)
    assert tried.values == ("file",)
    assert "1.5 s" in tried.because


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (described(0.02), "in 20 ms"),
        (described(1.5, nodes=2), "other nodes may differ"),
        (described(1.5, HWLOC_COMPONENTS="-gl"), "HWLOC_COMPONENTS is set"),
    ],
    ids=["fast", "nodes", "set"],
)
def test_a_file_is_left_out_with_the_reason(case, why):
    skipped = answer(case)
    assert isinstance(skipped, Skip)
    assert why in skipped.reason


def test_launcher_and_ranks_read_the_file_that_is_written_first():
    launch = render(Configuration.of({"topology": "file"}), described(1.5))
    path = launch.environment["HWLOC_XMLFILE"]
    assert launch.files == {path: XML}
    assert launch.environment["HWLOC_THISSYSTEM"] == "1"
