"""Complete scaling studies on a recorded machine of two CPUs, with a scripted runner."""

import io
import json
from dataclasses import dataclass

import pytest
from rich.console import Console
from tests.support.recorded_tune import MACHINE, PROGRAM, rank
from tests.support.replay_host import ReplayHost
from tests.support.scripted_runner import Behaviour, ScriptedRunner

from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.run import Narrator, Outcome
from mpiric.model.scaling import Size
from mpiric.report.scale_figure import as_pdf, as_svg, scaling_shapes
from mpiric.report.scale_text import print_scaling, proposal_text, scaling_csv, scaling_html, scaling_json
from mpiric.tuning.recipe import read_recipe
from mpiric.workflows.scale.request import ScaleRequest
from mpiric.workflows.scale.scale import dry_run, scale

COMMAND = ("mpirun.openmpi", "-n", "2", PROGRAM)
SLOW_ON_ONE = {"ranks=1": Behaviour(times=1.9)}


@dataclass
class Study:
    """Studies of a command in a directory of the test."""

    place: object
    command: tuple = COMMAND

    def request(self, **options):
        work = self.place / "work"
        work.mkdir(exist_ok=True)
        options = {"store": self.place / "store", "budget_s": 3600.0, "to_the_end": True, **options}
        return ScaleRequest(self.command, str(work), {"PATH": "/usr/bin:/bin"}, **options)

    def __call__(self, settings=SLOW_ON_ONE, runner=None, **options):
        runner = runner or ScriptedRunner(ranks=(rank(0), rank(1)), settings=settings)
        return scale(self.request(**options), ReplayHost.load(MACHINE), Narrator(), runner)


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path)


def test_powers_of_two_up_to_the_machine_are_measured(study):
    assert [result.size for result in study().results] == [Size(1), Size(2)]


def test_speedup_and_efficiency_are_relative_to_the_smallest_size(study):
    one, two = study().results
    assert one.speedup.value == 1
    assert two.speedup.value == pytest.approx(1.9, rel=0.01)
    assert two.efficiency.value == pytest.approx(0.95, rel=0.01)


def test_efficiency_above_the_limit_chooses_the_size(study):
    sizes = {choice.purpose: choice.size for choice in study({"ranks=1": Behaviour(times=1.2)}).choices}
    assert sizes == {"fastest": Size(2), "efficiency of at least 70 %": Size(1)}


def test_the_cheapest_size_within_the_deadline(study):
    (choice,) = [c for c in study(within_s=15.0).choices if c.purpose.startswith("cheapest")]
    assert choice.size == Size(2)


def test_a_deadline_that_no_size_meets(study):
    (choice,) = [c for c in study(within_s=1.0).choices if c.purpose.startswith("cheapest")]
    assert choice.size is None
    assert choice.sentence.startswith("no measured size is fast enough; 2 ranks needs")


def test_a_size_beyond_the_machine_is_a_sentence(study):
    scaling = study(ranks=(1, 2, 64))
    assert scaling.failed == ((Size(64), "it needs 64 CPUs, and 2 are available"),)
    assert len(scaling.results) == 2


def test_the_users_own_oversubscribed_size_is_measured(tmp_path):
    scaling = Study(tmp_path, ("mpirun.openmpi", "-n", "4", PROGRAM))(ranks=(2, 4))
    assert [(r.size.ranks, r.oversubscribed) for r in scaling.results] == [(2, False), (4, True)]


def test_a_size_that_the_program_refuses_is_named_with_its_last_line(study):
    printed = (
        "reading input\nNum processors must be a cube (1, 8, 27)\n" + "-" * 40 + "\nMPI_ABORT was invoked\n"
    )
    refuses = Behaviour(0.1, Outcome.FAILED, "exited with status 255", stderr=printed)
    scaling = study({"ranks=1": refuses})
    assert [result.size for result in scaling.results] == [Size(2)]
    ((size, why),) = scaling.failed
    assert size == Size(1)
    assert why == "exited with status 255; its last line: 'Num processors must be a cube (1, 8, 27)'"


def test_a_size_that_hangs_is_a_sentence(study):
    hangs = Behaviour(5.0, Outcome.TIMED_OUT, "ran for 70 s, and was ended")
    assert study({"ranks=1": hangs}).failed == ((Size(1), "ran for 70 s, and was ended"),)


def test_a_program_that_fails_at_every_size(study):
    fails = Behaviour(0.1, Outcome.FAILED, "exited with status 1")
    runner = ScriptedRunner(ranks=(rank(0), rank(1)), settings={"ranks=1": fails, "ranks=2": fails})
    with pytest.raises(ProgramFailedError, match="no size could be measured: 1 rank: exited with status 1"):
        study(runner=runner)


def test_two_sizes_predict_nothing(study):
    assert study(predict=(4,)).refusals[0].startswith("a model needs at least 3 sizes")


def test_threads_are_combined_with_ranks(study):
    scaling = study({}, threads=(1, 2))
    assert [result.size for result in scaling.results] == [Size(1), Size(1, threads=2), Size(2)]


def test_weak_scaling_replaces_the_ranks_in_the_command(tmp_path):
    study = Study(tmp_path, (*COMMAND, "-v", "n", "{ranks}"))
    scaling = study({}, weak=True)
    assert [r.command.split()[-1] for r in scaling.results] == ["1", "2"]
    assert scaling.results[1].efficiency.value == pytest.approx(1.0, rel=0.01)
    assert scaling.results[1].speedup.value == pytest.approx(2.0, rel=0.01)


def test_weak_scaling_needs_a_placeholder(study):
    with pytest.raises(MpiricError, match=r"--weak needs \{ranks\}, \{nodes\} or \{threads\}"):
        study(weak=True)


def test_a_command_without_a_launcher_is_refused(tmp_path):
    with pytest.raises(MpiricError, match="no launcher"):
        Study(tmp_path, (PROGRAM,))()


def test_an_interrupted_study_continues(study, tmp_path):
    interrupted = Behaviour(0.5, Outcome.INTERRUPTED, "stopped by the user")
    runner = ScriptedRunner(ranks=(rank(0), rank(1)), settings=SLOW_ON_ONE, nth={7: interrupted})
    assert sum(result.blocks for result in study(runner=runner).results) < 6
    again = ScriptedRunner(ranks=(rank(0), rank(1)), settings=SLOW_ON_ONE)
    scaling = study(runner=again, resume=True)
    assert sum(result.blocks for result in scaling.results) == 6
    assert len(list((tmp_path / "store").iterdir())) == 1


def test_a_dry_run_prints_the_launches(study):
    lines = dry_run(study.request(ranks=(1, 64)), ReplayHost.load(MACHINE))
    assert lines[0].startswith("1 rank: ")
    assert lines[0].endswith(f"-np 1 {PROGRAM}")
    assert lines[1] == "64 ranks: not run: it needs 64 CPUs, and 2 are available"


def test_reports_hold_each_size(study):
    scaling = study(predict=(4,))
    assert scaling_csv(scaling).splitlines()[1].startswith("1,1,1,1,18.99")
    assert [row["ranks"] for row in scaling_json(scaling)["sizes"]] == [1, 2]
    assert json.dumps(scaling_json(scaling)["sizes"])
    assert "a speedup of 1.9" in proposal_text(scaling)
    assert '<td class="n">95 %</td>' in scaling_html(scaling, "1")


def test_the_figure_is_svg_and_pdf(study):
    shapes = scaling_shapes(study())
    assert as_svg(shapes).startswith("<svg ")
    pdf = as_pdf(shapes)
    assert pdf.startswith(b"%PDF-1.4")
    start = int(pdf.split(b"startxref\n")[1].split(b"\n")[0])
    assert pdf[start : start + 4] == b"xref"


def test_a_submitted_study_that_has_ended_is_made_anew(study, tmp_path):
    study(into=tmp_path / "submitted")
    runner = ScriptedRunner(ranks=(rank(0), rank(1)), settings=SLOW_ON_ONE)
    assert sum(result.blocks for result in study(runner=runner, into=tmp_path / "submitted").results) == 6
    assert len(runner.launches) > 6


def test_the_terminal_shows_sizes_and_recommendations(study):
    console = Console(file=io.StringIO(), width=110)
    print_scaling(study(), console)
    text = console.file.getvalue()
    assert "95 %  ██████████" in text
    assert "fastest: 2 ranks (speedup 1.9)" in text
    assert "the curve does not bend between the measured sizes" in text


def test_the_recommended_size_becomes_a_recipe(study, tmp_path):
    scaling = study({"ranks=1": Behaviour(times=1.2)}, output=tmp_path / "size.toml")
    assert scaling.recommended.size == Size(1)
    recipe = read_recipe(tmp_path / "size.toml", lambda _knob, _value: "")
    assert recipe.configuration.as_dict() == {"ranks": "1"}
    assert scaling.recipe == str(tmp_path / "size.toml")


def test_weak_scaling_has_no_recipe(tmp_path):
    study = Study(tmp_path, (*COMMAND, "-v", "n", "{ranks}"))
    with pytest.raises(MpiricError, match="a recipe cannot hold the arguments that --weak changes"):
        study({}, weak=True, output=tmp_path / "size.toml")
