"""The nodes of a job are cleaned after runs that did not end by themselves, and only then."""

from dataclasses import dataclass, field

from tests.support.situations import BY_LABEL, situation

from mpiric.host.host import Completed
from mpiric.workflows.launch.node_leftovers import cleaned_nodes


@dataclass
class Recorder:
    """A host that only notes what is launched."""

    python: str = "/usr/bin/python3"
    environ: dict[str, str] = field(default_factory=dict)
    launched: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, argv, **_):
        self.launched.append(tuple(argv))
        return Completed(0, "", "")


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
