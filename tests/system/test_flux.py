"""Jobs of a real Flux: an instance of three brokers on this machine, all of them on one host."""

import os
import subprocess
import time
from shutil import which

import pytest
from tests.conftest import clean_environment
from tests.support.stand_in import StandInHost

from mpiric.model.batch import End, Stage
from mpiric.schedulers import (
    JobRequest,
    Patience,
    SubmitSettings,
    batch_scheduler,
    find_allocation,
)

# No package registry has it, so nobody can be required to.
pytestmark = pytest.mark.skipif(which("flux") is None, reason="not on this machine: flux")
FLUX = batch_scheduler("flux")
PATIENCE = Patience(first_s=0.1, longest_s=0.5, controller_s=60)
PATIENCE_S = 240


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """Login node of the instance."""
    uri = tmp_path_factory.mktemp("flux") / "uri"
    inside = f"flux getattr local-uri > {uri}.new; mv {uri}.new {uri}; sleep 3600"
    environment = clean_environment()
    with subprocess.Popen(["flux", "start", "-s", "3", "sh", "-c", inside], env=environment) as instance:
        until = time.monotonic() + PATIENCE_S
        while not uri.exists():
            assert time.monotonic() < until
            time.sleep(0.1)
        yield StandInHost({**environment, "FLUX_URI": uri.read_text().strip()})
        instance.terminate()


@pytest.fixture
def submit(host, tmp_path):
    def submit(body, request, **settings):
        script = tmp_path / "script.sh"
        lines = [f"{FLUX.directive} {text}" for text, _ in FLUX.options(request)]
        script.write_text("\n".join(["#!/bin/sh", *lines, f"cd {tmp_path}", body, ""]))
        result = SubmitSettings(log=str(tmp_path / "log"), **{"mark": "test", **settings})
        return FLUX.submit(host, str(script), result, PATIENCE)

    return submit


def last(host, *jobs):
    return {state.job: state for state in FLUX.follow(host, jobs, PATIENCE)}


def test_a_job_ends_with_its_exit_status(host, submit):
    job = submit("exit 3", JobRequest(name="an app", nodes=1, time="1m"))
    assert (last(host, job)[job].end, last(host, job)[job].exit_status) == (End.FAILED, 3)


def test_a_job_knows_its_allocation_and_its_id(host, submit, tmp_path):
    job = submit("env > environment; sleep 600", JobRequest(nodes=2, ranks=2))
    until = time.monotonic() + PATIENCE_S
    while not (tmp_path / "environment").exists():
        assert time.monotonic() < until
        time.sleep(0.1)
    lines = (tmp_path / "environment").read_text().splitlines()
    inside = StandInHost(dict(line.split("=", 1) for line in lines if "=" in line))
    allocation = find_allocation(inside)
    assert (allocation.scheduler, allocation.job) == ("flux", job)
    assert allocation.slots >= 2
    assert FLUX.why_it_failed(inside, allocation, "", PATIENCE).lost_hosts == ()
    FLUX.cancel(host, [job])
    assert last(host, job)[job].end is End.CANCELLED


def test_each_element_of_an_array_runs_once_and_a_job_after_them(host, submit, tmp_path):
    array = submit("echo $MPIRIC_ELEMENT >> out", JobRequest(ranks=1), elements=3, at_once=1, mark="array")
    after = submit("echo after >> out", JobRequest(ranks=1), after=array, mark="after")
    ended = last(host, *FLUX.elements(array, 3), after)
    assert all(state.succeeded for state in ended.values())
    assert (tmp_path / "out").read_text().split() == ["0", "1", "2", "after"]
    assert FLUX.find(host, "array", PATIENCE) == array


def test_a_job_that_reaches_its_time_limit_says_so(host, submit):
    job = submit("sleep 600", JobRequest(ranks=1, time="1s"))
    assert last(host, job)[job].end is End.TIME_LIMIT


def test_a_job_that_is_not_known_is_forgotten(host):
    assert FLUX.look(host, ["f1234567"], PATIENCE)["f1234567"].stage is Stage.FORGOTTEN


def test_nodes_have_a_shape_and_types(host):
    assert FLUX.node_shapes(host)[0].cores == os.cpu_count()
    assert sum(FLUX.node_types(host).values()) == 3
