"""The nodes of a job are cleaned after runs that did not end by themselves, and only then."""

from dataclasses import dataclass, field

import pytest
from tests.support.situations import BY_LABEL, situation

from mpiric.host.host import Completed
from mpiric.model.configuration import Configuration
from mpiric.model.policy import Shape
from mpiric.model.trial import Execution, Outcome
from mpiric.tuning.policy.sampling import Subject, SweepPoint
from mpiric.workflows.fabric import bench
from mpiric.workflows.launch.node_leftovers import cleaned_nodes
from mpiric.workflows.sweep.launch import ask
from mpiric.workflows.sweep.plan import SweepPlan
from mpiric.workflows.sweep.request import SweepRequest


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


@pytest.mark.parametrize(("status", "cleaned"), [(0, 0), (1, 1), (124, 1)])
def test_a_sweep_cleans_after_a_launch_that_failed(tmp_path, status: int, cleaned: int):
    subject, library = Subject("bcast", Shape(4, 2, 2)), BY_LABEL["mpich-5.0.2"]
    request = SweepRequest(("mpiexec", "-n", "4"), "/", {}, tmp_path)
    job, host = situation(library, ranks=4).job, Recorder(status=status)
    plan = SweepPlan(request, job, library, (0, 0, 1, 1), {subject: (8,)}, {subject: ()})
    ask(plan, host, [SweepPoint(subject, 8, "library")], 5.0, {})
    assert [is_cleaner(argv) for argv in host.launched].count(True) == cleaned


@pytest.mark.parametrize(
    ("outcome", "cleaned"), [(Outcome.OK, 0), (Outcome.TIMED_OUT, 1), (Outcome.FAILED, 1)]
)
def test_fabric_cleans_after_a_probe_that_did_not_end(monkeypatch, outcome: Outcome, cleaned: int):
    class Runner:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def execute(self, *_, **__):
            return Execution(outcome, 1.0, 0)

    monkeypatch.setattr(bench, "Runner", Runner)
    host, case = Recorder(), situation(BY_LABEL["mpich-5.0.2"], ranks=4, nodes=2)
    with bench.fabric_bench(case, host) as fabric:
        fabric.probe(Configuration(), case)
    assert [is_cleaner(argv) for argv in host.launched].count(True) == cleaned
