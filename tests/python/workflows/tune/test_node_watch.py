"""Measurements of the nodes after a slow run of the original: when they are made, noted and remembered."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.support.situations import mpi, situation

from mpiric.fabric.nodes import NodesReport, Outlier
from mpiric.model.configuration import Configuration
from mpiric.model.errors import ProgramFailedError
from mpiric.model.run import Narrator, Outcome, Phase, Trial
from mpiric.tuning.store import Store
from mpiric.workflows.fabric import nodes
from mpiric.workflows.tune import node_watch

SLOW = Outlier("n3", "arithmetic", 8.0, 10.0, -0.2, -0.21, -0.19)
NO_HOST = SimpleNamespace(environ={})


def trial(number):
    return Trial(Configuration(), Phase.SEARCH, Outcome.OK, 1.2, 1.2, number=number)


class Watch:
    """A tune on some nodes, and the reports that measurements of them give."""

    def __init__(self, log, reports=(), nodes=4, earlier=()):
        self.reports, self.notes = list(reports), []
        self.state = SimpleNamespace(
            situation=replace(situation(mpi("mpich", "5.0.2")), nodes=nodes),
            request=SimpleNamespace(spread=None), is_planned=False, earlier=earlier, log=log,
            narrator=Narrator(), note=self.notes.append,
        )  # fmt: skip

    def start(self, monkeypatch):
        def examine(*_):
            report = self.reports.pop(0)
            if isinstance(report, Exception):
                raise report
            return report

        monkeypatch.setattr(nodes, "examine_job_nodes", examine)
        return node_watch.watch_nodes(self.state, NO_HOST)


@pytest.fixture
def log(tmp_path):
    with Store(tmp_path).create("program", "job", ("mpirun",)) as log:
        yield log


def test_a_slow_node_is_named_with_its_effect_and_the_option_that_leaves_it_out(log, monkeypatch):
    watch = Watch(log, [NodesReport((), (SLOW,), (), {}, "slurm")])
    watch.start(monkeypatch)(trial(5))
    (note,) = watch.notes
    assert note.startswith("n3 has become slow before run 5 (arithmetic: 8 Gflop/s per core, 20 % below")
    assert note.endswith("leave the node out with --exclude=n3")


def test_equal_nodes_have_no_note(log, monkeypatch):
    watch = Watch(log, [NodesReport((), (), (), {})])
    watch.start(monkeypatch)(trial(5))
    assert watch.notes == []


@pytest.mark.parametrize("report", [None, ProgramFailedError("the launch failed")])
def test_nodes_that_cannot_be_measured_change_nothing(report, log, monkeypatch):
    watch = Watch(log, [report])
    watch.start(monkeypatch)(trial(5))
    assert watch.notes == []


def test_a_resumed_tune_keeps_the_note_and_measures_nothing_for_earlier_runs(log, monkeypatch):
    first = Watch(log, [NodesReport((), (SLOW,), (), {})])
    first.start(monkeypatch)(trial(5))
    resumed = Watch(log, earlier=(trial(5), trial(6)))
    measure = resumed.start(monkeypatch)
    for number in (5, 6):
        measure(trial(number))
    assert resumed.notes == first.notes


def test_at_most_three_measurements_are_made(log, monkeypatch):
    watch = Watch(log, [NodesReport((), (), (), {})] * 4)
    measure = watch.start(monkeypatch)
    for number in range(5):
        measure(trial(number + 1))
    assert len(watch.reports) == 1


def test_a_single_node_is_not_watched(log, monkeypatch):
    assert Watch(log, nodes=1).start(monkeypatch) is None
