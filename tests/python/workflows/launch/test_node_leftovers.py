"""The nodes of a job are cleaned after runs that did not end by themselves, and only then."""

from dataclasses import dataclass, field

import pytest
from tests.support.situations import BY_LABEL, situation

from mpiric.host.host import Completed
from mpiric.lab.lab import drive
from mpiric.model.configuration import Configuration
from mpiric.model.policy import Shape
from mpiric.model.run import Execution, Outcome
from mpiric.statistics.sampling import Subject, SweepPoint
from mpiric.workflows.fabric.bench import probe_route
from mpiric.workflows.launch.nodes import cleaned_nodes
from mpiric.workflows.sweep.explore import measure_points
from mpiric.workflows.sweep.plan import SweepPlan, SweepRequest
from mpiric.workflows.trials import users_lab


@dataclass
class Recorder:
    """A host that only notes what is launched."""

    python: str = "/usr/bin/python3"
    environ: dict[str, str] = field(default_factory=dict)
    status: int = 0
    launched: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, argv, **_):
        self.launched.append(tuple(argv))
        return Completed(self.status, "", "")

    def elf(self, _path):
        return None


def launched_after(runs: int, nodes: int = 2) -> list[tuple[str, ...]]:
    host = Recorder()
    job = situation(BY_LABEL["mpich-5.0.2"], ranks=4).job
    with cleaned_nodes(job, nodes, host) as after_ended_run:
        for _ in range(runs):
            after_ended_run()
    return host.launched


def test_the_launch_line_starts_the_cleaner_where_the_ranks_run():
    (argv,) = launched_after(1)
    assert argv[:3] == ("mpiexec", "-n", "4")
    assert "/usr/bin/python3" in argv
    assert "./app" not in argv


def test_nothing_is_started_where_no_run_was_ended_or_all_ranks_are_here():
    assert launched_after(0) == []
    assert launched_after(3, nodes=1) == []


def test_many_ended_runs_are_cleaned_up_on_the_way():
    assert len(launched_after(8)) == 1
    assert len(launched_after(17)) == 3


def is_cleaner(argv: tuple[str, ...]) -> bool:
    return any("remove_recent" in word for word in argv)


OUTCOMES = [(Outcome.OK, 0), (Outcome.TIMED_OUT, 1), (Outcome.FAILED, 1)]


def fabric_probe(case, host, _directory):
    return probe_route(Configuration(), case, host)


def sweep_launch(case, _host, directory):
    subject = Subject("bcast", Shape(4, 2, 2))
    request = SweepRequest(("mpiexec", "-n", "4"), "/", {}, directory)
    plan = SweepPlan(request, case, (0, 0, 1, 1), {subject: (8,)}, {subject: ()})
    return measure_points(plan, [SweepPoint(subject, 8, "library")], 5.0, {})


@pytest.mark.parametrize("plan", [fabric_probe, sweep_launch])
@pytest.mark.parametrize(("outcome", "cleaned"), OUTCOMES)
def test_nodes_are_cleaned_after_a_run_that_did_not_end(monkeypatch, tmp_path, plan, outcome, cleaned):
    class Runner:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def execute(self, *_, **__):
            return Execution(outcome, 1.0, 0)

    monkeypatch.setattr(users_lab, "Runner", Runner)
    host, case = Recorder(), situation(BY_LABEL["mpich-5.0.2"], ranks=4, nodes=2)
    with users_lab.users_lab(case, host) as lab:
        drive(plan(case, host, tmp_path), lab.measure)
    assert [is_cleaner(argv) for argv in host.launched].count(True) == cleaned
