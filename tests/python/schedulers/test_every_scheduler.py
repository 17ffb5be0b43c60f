"""Behaviour of every scheduler, with its commands replaced by a fake scheduler that follows the manual.

A scheduler added to the registry needs a fake scheduler in ``tests/support/stand_ins``.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.stand_in import COMMANDS, StandIn

import mpiric
from mpiric.launchers import parse_command
from mpiric.model.batch import AllocatedHost, Allocation, End, NodeShape, Stage
from mpiric.schedulers import (
    JobRequest,
    LayoutRequest,
    Patience,
    ScriptOptions,
    SubmitSettings,
    batch_scheduler,
    batch_schedulers,
    find_allocation,
    installed_batch_scheduler,
    plan_layout,
    request_of,
    schedulers,
    script_lines,
    text_of,
)

ONE_RANK = JobRequest(nodes=1, ranks=1)
PATIENCE = Patience(first_s=0.05, longest_s=0.1, controller_s=20)


class Cluster:
    """A scheduler, its stand-in, and a directory for jobs."""

    def __init__(self, name, place):
        self.scheduler = batch_scheduler(name)
        self.stand_in = StandIn(name, place)
        self.host = self.stand_in.host()
        self.place = place

    def submit(self, body, request=ONE_RANK, **settings):
        """Submit a script of sh, which appends to ``out``; returns the id."""
        script = self.place / "script.sh"
        options = [text for text, _ in self.scheduler.options(request)]
        directives = [
            f"{self.scheduler.directive} {text}" for text in (*self.scheduler.fixed_options, *options)
        ]
        script.write_text("\n".join(["#!/bin/sh", *directives, f"cd {self.place}", body, ""]))
        submit_settings = SubmitSettings(
            name="test", mark=settings.pop("mark", "test-mark"), log=str(self.place / "log")
        )
        return self.scheduler.submit(self.host, str(script), replace(submit_settings, **settings), PATIENCE)

    def follow(self, *jobs):
        """All states of jobs until they are over."""
        return list(self.scheduler.follow(self.host, jobs, PATIENCE))

    def await_stage(self, job, stage):
        return next(
            state for state in self.scheduler.follow(self.host, [job], PATIENCE) if state.stage is stage
        )

    def out(self):
        path = self.place / "out"
        return path.read_text().split() if path.exists() else []


def test_every_scheduler_has_a_stand_in():
    assert set(batch_schedulers()) == set(COMMANDS)


@pytest.fixture(params=sorted(COMMANDS))
def cluster(request, tmp_path):
    return Cluster(request.param, tmp_path)


def test_a_scheduler_is_found_by_its_commands(cluster):
    assert installed_batch_scheduler(cluster.host) is cluster.scheduler


@pytest.mark.parametrize("layout", [LayoutRequest(nodes=2), LayoutRequest(ranks=5, nodes=2, threads=2)])
def test_its_script_is_taken_and_runs(cluster, layout):
    shape = cluster.scheduler.node_shapes(cluster.host)[0]
    time = cluster.scheduler.time_text(90)
    options = ScriptOptions(job_name="an app", account="me", partition="batch", time=time)
    launch = ("sh", "-c", f"echo $OMP_NUM_THREADS >> {cluster.place}/out")
    lines = script_lines(cluster.scheduler, plan_layout(layout, shape), shape, options, launch)
    script = cluster.place / "job.sh"
    script.write_text(
        text_of(lines, cluster.scheduler.directive if cluster.scheduler.comments_beside else "")
    )
    job = cluster.scheduler.submit(cluster.host, str(script), SubmitSettings(mark="m"), PATIENCE)
    assert cluster.follow(job)[-1].succeeded
    assert cluster.out() == [str(layout.threads)]


def test_its_launcher_starts_as_many_ranks(cluster):
    shape = NodeShape(2, 8)
    argv = cluster.scheduler.launch(plan_layout(LayoutRequest(nodes=2), shape), shape, "")
    assert cluster.scheduler.name == "slurm" or any("32" in word for word in argv)


def test_no_time_is_an_error(cluster):
    assert not re.fullmatch(cluster.scheduler.time_pattern, "soon")
    assert re.fullmatch(cluster.scheduler.time_pattern, cluster.scheduler.time_text(90))


def test_a_job_has_the_nodes_of_its_launch_line(cluster):
    job = parse_command(("srun", "-N", "2", "-n", "4", "./app"), "", {}, dialect="openmpi5")
    job_id = cluster.submit("sleep 1", request_of(job, cluster.scheduler, 30))
    assert cluster.await_stage(job_id, Stage.RUNNING).hosts == ("n1", "n2")


def test_a_users_own_option_replaces_that_of_the_request(cluster):
    options = cluster.scheduler.options(JobRequest(nodes=2, partition="batch", time="30"))
    queue = next(text for text, field in options if field == "partition").replace("batch", "short")
    chosen = cluster.scheduler.override(options, [queue])
    assert queue in chosen
    assert not any("batch" in text for text in chosen)


def test_a_job_ends_with_its_exit_status(cluster):
    good, bad = cluster.submit("sleep 0.2"), cluster.submit("exit 3")
    last = {state.job: state for state in cluster.follow(good, bad)}
    assert last[good].succeeded
    assert (last[bad].end, last[bad].exit_status) == (End.FAILED, 3)


def test_a_job_knows_its_allocation_and_its_id(cluster):
    job = cluster.submit('env > environment; cat "${PBS_NODEFILE:-/dev/null}" > nodes')
    cluster.follow(job)
    lines = (cluster.place / "environment").read_text().splitlines()
    host = cluster.stand_in.host(**dict(line.split("=", 1) for line in lines if "=" in line))
    allocation = find_allocation(host)
    assert allocation.scheduler == cluster.scheduler.name
    assert [each_host.name for each_host in allocation.hosts] == ["n1"]
    assert cluster.scheduler.own_job(host.environ) == job


@pytest.mark.parametrize("count", [1, 4])
def test_each_element_of_an_array_runs_once_and_knows_its_index(cluster, count):
    index = cluster.scheduler.element_variable
    array = cluster.submit(f"echo $(echo {index}) >> out", elements=count)
    elements = cluster.scheduler.elements(array, count)
    last = {state.job: state for state in cluster.follow(*elements)}
    assert all(last[element].succeeded for element in elements)
    assert sorted(cluster.out()) == [str(index) for index in range(count)]


def test_an_element_knows_its_id(cluster):
    index = cluster.scheduler.element_variable
    array = cluster.submit(f"env > environment.$(echo {index})", elements=2)
    elements = cluster.scheduler.elements(array, 2)
    cluster.follow(*elements)
    for at, element in enumerate(elements):
        lines = (cluster.place / f"environment.{at}").read_text().splitlines()
        environment = dict(line.split("=", 1) for line in lines if "=" in line)
        assert cluster.scheduler.own_job(environment) == element


def test_only_some_elements_run_at_once(cluster):
    body = "echo + >> out; sleep 0.3; echo - >> out"
    array = cluster.submit(body, elements=4, at_once=1)
    cluster.follow(*cluster.scheduler.elements(array, 4))
    assert cluster.out() == ["+", "-"] * 4


def test_a_job_begins_after_an_array_however_that_ended(cluster):
    array = cluster.submit("sleep 0.3; echo array >> out; exit 1", elements=2)
    after = cluster.submit("echo after >> out", mark="after", after=array)
    assert cluster.follow(after)[-1].succeeded
    assert cluster.out() == ["array", "array", "after"]


def test_an_array_that_is_too_large_is_refused_for_its_size(cluster):
    if cluster.scheduler.limit_command:
        assert cluster.scheduler.array_limit(cluster.host) == 6
        with pytest.raises(Exception, match="|".join(cluster.scheduler.too_many)):
            cluster.submit("true", elements=7)


def test_a_running_and_a_waiting_job_can_be_cancelled(cluster):
    running = cluster.submit("sleep 60")
    waiting = cluster.submit("true", mark="waiting", after=running)
    cluster.await_stage(running, Stage.RUNNING)
    cluster.scheduler.cancel(cluster.host, [waiting])
    assert cluster.follow(waiting)[-1].end is End.CANCELLED
    cluster.scheduler.cancel(cluster.host, [running])
    assert cluster.follow(running)[-1].end is End.CANCELLED
    cluster.scheduler.cancel(cluster.host, [running])  # cancelling an ended job is not an error


def test_an_array_is_cancelled_by_its_id_or_its_elements(cluster):
    array = cluster.submit("sleep 60", elements=3)
    elements = cluster.scheduler.elements(array, 3)
    cluster.scheduler.cancel(cluster.host, elements)
    ends = {state.job: state.end for state in cluster.follow(*elements)}
    assert set(ends.values()) == {End.CANCELLED}


def test_a_job_that_reaches_its_time_limit_says_so(cluster):
    cluster.stand_in.set(limit_s=0.2)
    assert cluster.follow(cluster.submit("exec sleep 60"))[-1].end is End.TIME_LIMIT


def test_a_job_whose_host_fails_is_begun_again_or_reported(cluster):
    job = cluster.submit("[ -e begun ] || { touch begun; sleep 60; }")
    cluster.await_stage(job, Stage.RUNNING)
    while not (cluster.place / "begun").exists():
        pass
    cluster.stand_in.set(down=["n1"])
    last = cluster.follow(job)[-1]
    begun_again = last.succeeded and last.hosts in (("n2",), ())
    assert begun_again or last.end is End.HOST_FAILED


def test_a_job_is_requeued_where_that_can_be(cluster):
    job = cluster.submit("[ -e begun ] || { touch begun; sleep 60; }")
    while not (cluster.place / "begun").exists():
        pass
    if cluster.scheduler.requeue(cluster.host, job):
        assert cluster.follow(job)[-1].succeeded
    else:
        assert not cluster.scheduler.requeue_command
        cluster.scheduler.cancel(cluster.host, [job])


def test_a_lost_host_is_the_cause_of_a_failed_run(cluster):
    allocation = Allocation(cluster.scheduler.name, "1", (AllocatedHost("n1", 1), AllocatedHost("n2", 1)))
    healthy = cluster.scheduler.why_it_failed(cluster.host, allocation, "", PATIENCE)
    assert (healthy.lost_hosts, healthy.excuse) == ((), "")
    cluster.stand_in.set(down=["n2"])
    assert cluster.scheduler.why_it_failed(cluster.host, allocation, "", PATIENCE).lost_hosts == ("n2",)


def test_a_submission_whose_answer_was_lost_is_found_by_its_mark(cluster):
    job = cluster.submit("true", mark="mpiric-mine-3")
    assert cluster.scheduler.find(cluster.host, "mpiric-mine-3", PATIENCE) == job
    assert cluster.scheduler.find(cluster.host, "mpiric-other", PATIENCE) == ""


def test_an_array_is_found_by_its_mark(cluster):
    array = cluster.submit("true", mark="mpiric-mine-4", elements=3)
    assert cluster.scheduler.find(cluster.host, "mpiric-mine-4", PATIENCE) == array


def test_a_job_that_is_not_known_any_more_is_forgotten(cluster):
    job = cluster.submit("true")
    cluster.follow(job)
    unknown = (
        cluster.scheduler.elements(job.replace("1", "999"), 1)[0] if "," in job else job.replace("1", "999")
    )
    states = cluster.scheduler.look(cluster.host, [job, unknown], PATIENCE)
    assert states[job].end is End.COMPLETED
    assert states[unknown].stage is Stage.FORGOTTEN


def test_nodes_have_a_shape_and_types(cluster):
    assert cluster.scheduler.node_shapes(cluster.host)[0].cores == 8
    ((features, count),) = cluster.scheduler.node_types(cluster.host).items()
    assert count == 3
    job = cluster.submit("true", JobRequest(nodes=1, ranks_per_node=1, features=features))
    assert cluster.follow(job)[-1].succeeded


def test_idle_nodes_run_no_job_and_a_job_gets_the_node_that_it_names(cluster):
    job = cluster.submit("sleep 30", JobRequest(nodes=1, ranks_per_node=1, hosts="n2"))
    assert cluster.await_stage(job, Stage.RUNNING).hosts == ("n2",)
    cluster.stand_in.set(down=["n3"])
    for partition in ("", "normal"):
        assert cluster.scheduler.idle_nodes(cluster.host, partition) == ("n1",)
    cluster.scheduler.cancel(cluster.host, [job])


def test_without_its_commands_there_is_an_error(cluster):
    host = cluster.stand_in.host(PATH="/nonexistent")
    with pytest.raises(Exception, match="is not there"):
        cluster.scheduler.look(host, ["1"], PATIENCE)


def test_other_rooms_know_schedulers_by_their_public_names():
    package = Path(mpiric.__file__).parent
    files = [path for path in package.rglob("*.py") if path.parent.name not in ("schedulers", "slurm")]
    private = re.compile(r"mpiric\.schedulers\.|mpiric\.schedulers import _")
    assert [path.name for path in files if private.search(path.read_text())] == []


def test_workflows_and_verbs_never_compare_the_name_of_a_scheduler():
    package = Path(mpiric.__file__).parent
    compared = re.compile(rf"[!=]= \"({'|'.join(schedulers())})\"")
    files = [*(package / "workflows").rglob("*.py"), *(package / "cli").rglob("*.py")]
    assert [path.name for path in files if compared.search(path.read_text())] == []
