"""A recipe proved at marks in production: its first whole run, and jobs in turn with and without it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.proved_recipe import write_proved

from mpiric.host.facts.local import LocalHost
from mpiric.model.errors import ExitCode
from mpiric.mpis import find_mpis
from mpiric.tuning.recipe import read_recipe

PROGRAM = Path(__file__).parent / "programs/told_steps.c"
MARK = "MPI_Allreduce@*@2.0:10,50"
pytestmark = pytest.mark.requires("gcc", "mpi:mpich")


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    mpich = next(mpi for mpi in find_mpis(LocalHost()) if mpi.label.startswith("mpich-5"))
    program = tmp_path_factory.mktemp("program") / "told_steps"
    subprocess.run([mpich.compilers["c"], str(PROGRAM), "-o", str(program)], check=True)
    return (mpich.launcher, "-n", "2", str(program), "input")


@pytest.fixture
def production(line, tmp_path):
    """The command with a recipe in its store, in a directory with its input."""
    return Production(tmp_path, line)


class Production:
    def __init__(self, place, line):
        self.place, self.line, self.store = place, line, place / "store"
        self.path = self.store / "tune/steps.recipe.toml"
        self.input("120 0 0")
        write_proved(self.path, line, place, MARK)

    def input(self, text):
        (self.place / "input").write_text(text)

    @property
    def whole(self):
        return read_recipe(self.path, lambda *_: "").whole

    def words(self, *options):
        return [sys.executable, "-m", "mpiric", *options, "--store", str(self.store)]

    def run(self, *options):
        command = [*self.words("run", *options), "--", *self.line]
        done = subprocess.run(
            command, cwd=self.place, capture_output=True, text=True, timeout=120, check=False
        )
        return done.returncode, done.stdout, done.stderr

    def history(self):
        command = [*self.words("history", "--explore"), "--json", "--", *self.line]
        return json.loads(
            subprocess.run(command, cwd=self.place, capture_output=True, text=True, check=True).stdout
        )


def test_the_first_whole_run_is_looked_at_once_and_passes_everything_through(production):
    status, out, err = production.run()
    assert status == 0
    assert out.splitlines()[-1].startswith("step 110 sum ")
    assert production.whole.verdict.value == "ran, no reference"
    assert "forecast time" in production.whole.why
    assert "first whole run with this recipe" in err
    assert "first whole run with this recipe" not in production.run()[2]
    assert not any((production.store / "whole-runs").iterdir())


@pytest.mark.parametrize(
    ("text", "status", "why"),
    [("120 1 0", 0, "printed a NaN: step 0 sum nan"), ("120 0 3", 3, "ended with status 3")],
)
def test_a_recipe_whose_first_run_goes_wrong_is_not_applied_again(production, text, status, why):
    production.input(text)
    assert production.run()[0] == status
    assert production.whole.verdict.value == "differs"
    assert why in production.whole.why
    again = production.run()
    assert again[0] == status
    assert "is not applied: a complete run gave other results" in again[2]
    assert production.run("--recipe", str(production.path))[0] == ExitCode.MISMATCH


def test_a_run_that_is_ended_from_outside_says_nothing_of_the_recipe(production):
    production.input("20000 0 0")
    command = [*production.words("run"), "--", *production.line]
    process = subprocess.Popen(
        command, cwd=production.place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    for _ in range(600):
        if any((production.store / "whole-runs").glob("*/rank-0.*.marks")):
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert b"does not check the recipe" in process.communicate(timeout=60)[1]
    assert process.returncode != 0
    assert production.whole.verdict.value == "not run"


def test_jobs_take_turns_and_a_failing_recipe_ends_it(production):
    messages = [production.run("--explore")[2] for _ in range(2)]
    assert {"with the recipe" in fields.partition("exploring: ")[2] for fields in messages} == {True, False}
    result = production.history()
    assert (result["blocks"], result["jobs"], result["ended_because"]) == (1, 2, None)
    (ledger,) = (production.store / "explore").glob("*/events.jsonl")
    lines = [json.loads(text) for text in ledger.read_text().splitlines()]
    assert [line["block"] for line in lines if line["event"] == "began"] == [1, 1]
    for line in lines:  # simulates a failure of the job with the recipe
        if line["event"] == "ended" and line["job"] == next(
            entry["job"] for entry in lines if entry.get("side") == "recipe"
        ):
            line["status"] = 3
    ledger.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"event": "beg')
    after = production.run("--explore")[2]
    assert "a line ignored" in after
    assert (
        "the exploration has ended: with the recipe a job ended with status 3 where the original ran" in after
    )
    assert "running the command without the recipe" in after
    assert production.history()["damaged_lines"] == 1


def test_two_jobs_at_once_are_the_two_sides_of_a_block(production):
    command = [*production.words("run", "--explore"), "--", *production.line]
    silent = {"cwd": production.place, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    jobs = [subprocess.Popen(command, **silent) for _ in range(2)]
    assert [job.wait(timeout=120) for job in jobs] == [0, 0]
    (ledger,) = (production.store / "explore").glob("*/events.jsonl")
    began = [
        line for text in ledger.read_text().splitlines() if (line := json.loads(text))["event"] == "began"
    ]
    assert [line["block"] for line in began] == [1, 1]
    assert {line["side"] for line in began} == {"recipe", "original"}
    assert production.history()["blocks"] == 1


def test_a_job_killed_with_its_mpiric_counts_by_the_marks_it_left(production):
    production.input("20000 0 0")
    command = [*production.words("run", "--explore"), "--", *production.line]
    process = subprocess.Popen(
        command,
        cwd=production.place,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    for _ in range(1200):
        if any((production.store / "explore").glob("*/*/rank-0.*.marks")):
            break
        time.sleep(0.05)
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    production.input("120 0 0")
    output = production.run("--explore")[2]
    assert "the inputs have changed since the first job of block 1" in output
    (ledger,) = (production.store / "explore").glob("*/events.jsonl")
    ends = [
        line for text in ledger.read_text().splitlines() if (line := json.loads(text))["event"] == "ended"
    ]
    assert ends[0]["status"] is None
    assert ends[0]["calls"] > 10
    assert not any(path.is_dir() for path in ledger.parent.iterdir())
