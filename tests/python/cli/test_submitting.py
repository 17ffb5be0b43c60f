"""Arguments of a submitted job are the arguments of the submitting call."""

import itertools
import shlex

import pytest
from click.testing import CliRunner

from mpiric.cli import history, profile, sweep, tune
from mpiric.model.batch import Spread
from mpiric.model.errors import MpiricError
from mpiric.workflows.submit.submit import Ended


@pytest.fixture
def submitted(monkeypatch, tmp_path):
    """`submitted(verb, words…)` is the request that a call would submit."""
    calls = []

    def submit(request, *_):
        calls.append(request)
        return Ended(0, "", ())

    monkeypatch.setattr("mpiric.workflows.submit.submit.submit", submit)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def call(verb, *arguments):
        done = CliRunner().invoke(verb.command, arguments, catch_exceptions=False, standalone_mode=False)
        assert done.exception is None, done.output
        return calls[-1]

    return call


def options(request):
    arguments = list(request.arguments[1 : request.arguments.index("--")])
    return {name: value for name, value in itertools.pairwise(arguments) if name.startswith("--")}


def test_lists_stay_whole(submitted):
    request = submitted(
        sweep, "--submit", "--collectives", "bcast,barrier", "--ranks", "4,2", "--", "mpiexec"
    )
    assert options(request)["--collectives"] == "bcast,barrier"
    assert options(request)["--ranks"] == "4,2"


def test_repeatable_options_are_repeated(submitted):
    request = submitted(tune, "--submit", "--only", "pages,malloc", "--only", "io", "--", "srun", "./app")
    arguments = [word for word in request.arguments if word != "--only"]
    assert arguments[1:4] == ["pages", "malloc", "io"]


def test_an_array_has_the_requested_number_of_jobs(submitted):
    request = submitted(tune, "--submit", "--array", "16%4", "--slice", "5m", "--", "srun", "./app")
    assert request.spread == Spread(16, 4, 300.0)
    assert options(request)["--array"] == "16%4"
    assert "--submit" not in request.arguments


def test_a_profile_is_one_job(submitted):
    assert submitted(profile, "--submit", "--", "srun", "./app").spread is None


@pytest.mark.parametrize("text", ["0", "x", "4%0", "4%", "-1", "99999", "4%4%4", "٣"])
def test_malformed_array_is_refused(text, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mpiric-sweep").mkdir()
    (tmp_path / "mpiric-sweep/sweep.jsonl").write_text("kept")
    arguments = ["--submit", "--array", text, "--", "mpiexec"]
    with pytest.raises(MpiricError, match="must be a number of jobs"):
        CliRunner().invoke(sweep.command, arguments, catch_exceptions=False, standalone_mode=False)
    assert (tmp_path / "mpiric-sweep/sweep.jsonl").read_text() == "kept"


@pytest.mark.parametrize("verb", [tune, sweep])
@pytest.mark.parametrize("arguments", [("--array", "4"), ("--sbatch=-N 4",)])
def test_options_of_jobs_need_a_submission(verb, arguments):
    with pytest.raises(MpiricError, match="needs --submit"):
        CliRunner().invoke(
            verb.command, [*arguments, "--", "mpiexec", "x"], catch_exceptions=False, standalone_mode=False
        )


def test_a_round_is_for_jobs(tmp_path):
    arguments = ["--round", "1", "--array", "2", "--into", str(tmp_path), "--", "srun", "./app"]
    with pytest.raises(MpiricError, match="--round is for the jobs"):
        CliRunner().invoke(tune.command, arguments, catch_exceptions=False, standalone_mode=False)


def submission_of(request):
    """Return the submission of a request's job: its directory counts as submitted."""
    (request.directory / "jobs").write_text("1\n")
    return request


def test_a_resumed_tune_needs_none_of_its_options_again(submitted):
    tune_options = (
        "--budget",
        "80s",
        "--array",
        "4",
        "--slice",
        "20s",
        "-o",
        "out.toml",
        "--sbatch=-p short",
    )
    first = submission_of(submitted(tune, "--submit", *tune_options, "--", "srun", "./app"))
    assert first.go_on == "mpiric tune --submit --resume -- srun ./app"
    again = submitted(tune, "--submit", "--resume", "--", "srun", "./app")
    assert (again.budget_s, again.spread, again.options) == (80.0, Spread(4, 0, 20.0), ("-p short",))
    assert options(again) == options(first)
    other = submitted(tune, "--submit", "--resume", "--budget", "2m", "--", "srun", "./app")
    assert options(other)["--budget"] == "2m"
    assert options(other)["--output"] == "out.toml"


def test_a_resumed_sweep_needs_none_of_its_options_again(submitted):
    first = submitted(sweep, "--submit", "--budget", "80s", "--no-own", "--ranks", "4,2", "--", "mpiexec")
    assert "--no-own" in first.arguments
    again = submitted(sweep, "--submit", "--resume", "--", "mpiexec")
    assert again.budget_s == 80.0
    assert [*again.arguments] == [*first.arguments]


@pytest.mark.parametrize(
    ("verb", "options_given"),
    [(profile, ("--for", "30s", "--sbatch", "-p short")), (history, ("--against", "a.toml", "--in-place"))],
)
def test_the_hint_of_a_verb_without_resume_is_its_call(submitted, verb, options_given):
    """Following a job again needs the directory of its files; a call of its own kind would begin another."""
    first = submitted(verb, "--submit", *options_given, "--", "srun", "./app")
    hint = shlex.split(first.go_on)
    assert set(options_given) <= set(hint)
    again = submitted(verb, *hint[2:])
    assert (again.directory, again.options) == (first.directory, first.options)
    assert options(again) == options(first)
