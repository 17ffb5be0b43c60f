"""Checks and times of the programs of several builds, with labs of a script."""

from pathlib import Path

import pytest

from mpiric.lab.lab import drive
from mpiric.model.configuration import Configuration
from mpiric.model.errors import ProgramFailedError
from mpiric.model.run import Outcome, Phase, Run, Trial
from mpiric.workflows.build.build import Attempt, BuildRequest, BuiltPrograms, check_answers, proved_fastest

REQUEST = BuildRequest(("make",), "./app", 3, try_mpis=False, root=Path())


class ScriptedLab:
    """Lab of one build: its runs print a text and take a time."""

    def __init__(
        self, directory: Path, printed: str, wall_s: float = 1.0, outcome: Outcome = Outcome.OK
    ) -> None:
        self.directory, self.printed, self.wall_s, self.outcome = directory, printed, wall_s, outcome
        self.limits: list[float | None] = []

    def measure(self, run: Run) -> Trial:
        """Write the output and return the trial."""
        self.limits.append(run.limit_s)
        paths = [self.directory / f"{id(self)}.{name}" for name in ("stdout", "stderr")]
        for path in paths:
            path.write_text(self.printed)
        return Trial(
            run.configuration,
            run.phase,
            self.outcome,
            self.wall_s,
            self.wall_s,
            stdout=str(paths[0]),
            stderr=str(paths[1]),
            pair=run.pair,
            replicate=run.replicate,
        )


def checked(**labs: ScriptedLab) -> tuple[dict[str, Attempt], BuiltPrograms]:
    """Return the builds after the check of their outputs, and their programs."""
    attempts = {label: Attempt(label, "gcc", "-O2", "", built=True) for label in labs}
    programs = BuiltPrograms(labs)  # type: ignore[arg-type]
    drive(check_answers(REQUEST, [*attempts.values()], programs), programs.measure)
    return attempts, programs


def test_outputs_and_time_limits_follow_from_the_first_successful_build(tmp_path):
    broken = ScriptedLab(tmp_path, "error: no such file", outcome=Outcome.FAILED)
    good, different = ScriptedLab(tmp_path, "energy 1.5\n"), ScriptedLab(tmp_path, "energy 2.5\n")
    attempts, programs = checked(broken=broken, good=good, different=different)
    assert [attempt.agrees for attempt in attempts.values()] == [False, True, False]
    assert "no such file" in attempts["broken"].sentence
    assert "2.5" in attempts["different"].sentence
    assert programs.baseline == "good"
    assert different.limits == [70.0]


def test_it_is_an_error_if_every_build_fails(tmp_path):
    with pytest.raises(ProgramFailedError):
        checked(one=ScriptedLab(tmp_path, "no", outcome=Outcome.FAILED))


def test_the_fastest_build_is_proved_in_fresh_pairs(tmp_path):
    slow, fast = ScriptedLab(tmp_path, "energy 1.5\n", 2.0), ScriptedLab(tmp_path, "energy 1.5\n", 1.0)
    attempts, programs = checked(slow=slow, fast=fast)
    best, sentence = proved_fastest(REQUEST, [*attempts.values()], programs)
    assert best is attempts["fast"]
    assert attempts["fast"].ratio == pytest.approx(2.0)
    assert "fresh pairs" in sentence
    assert len(attempts["slow"].seconds) == len(attempts["fast"].seconds)


def test_a_different_output_while_timing_excludes_a_build(tmp_path):
    slow, fast = ScriptedLab(tmp_path, "energy 1.5\n", 2.0), ScriptedLab(tmp_path, "energy 1.5\n", 1.0)
    attempts, programs = checked(slow=slow, fast=fast)
    fast.printed = "energy 2.5\n"
    best, _ = proved_fastest(REQUEST, [*attempts.values()], programs)
    assert best is attempts["slow"]
    assert (
        programs.measure(Run(Configuration.of({"build": "fast"}), Phase.SEARCH)).outcome is Outcome.DIFFERENT
    )
