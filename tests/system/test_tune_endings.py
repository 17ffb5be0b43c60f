"""No data is lost and nothing is left behind after any end of a tune; damaged data is not used."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.model.configuration import Configuration
from mpiric.model.errors import ExitCode
from mpiric.model.evidence import Recipe
from mpiric.model.mpi_library import MpiLibrary
from mpiric.mpis import find_mpis
from mpiric.tuning.recipe import write_recipe
from mpiric.workflows.launch.fingerprints import fingerprint
from mpiric.workflows.launch.parse_job import parse_job

SOURCE = Path(__file__).parent / "programs/ending.c"
MPIRIC = str(Path(sys.executable).parent / "mpiric")
pytestmark = pytest.mark.requires("gcc", "mpi:mpich")


@pytest.fixture(scope="module")
def mpich() -> MpiLibrary:
    return next(mpi for mpi in find_mpis(LocalHost()) if mpi.label.startswith("mpich-5"))


@pytest.fixture(scope="module")
def compiled(mpich: MpiLibrary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("made") / "ending"
    subprocess.run([mpich.compilers["c"], str(SOURCE), "-o", str(program)], check=True)
    return program


class User:
    """User with a program of a unique name in a separate directory."""

    def __init__(self, place: Path, program: Path, mpich: MpiLibrary, environment: dict[str, str]) -> None:
        self.place, self.environment = place, environment
        self.program = place / f"ending-{os.getpid()}-{time.monotonic_ns()}"
        self.mpiexec = mpich.launcher
        shutil.copy(program, self.program)

    def line(self, *arguments: str) -> list[str]:
        return [self.mpiexec, "-n", "2", str(self.program), *arguments]

    def run(self, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
        options = {"env": self.environment, "timeout": 200, "capture_output": True, "text": True, **options}
        return subprocess.run([MPIRIC, *arguments], cwd=self.place, **options)

    def tune(
        self, *arguments: str, options: tuple[str, ...] = (), **more
    ) -> subprocess.CompletedProcess[str]:
        usual = ("--json", "--budget", "10m", "--max-runs", "8", "--only", "malloc")
        return self.run("tune", *usual, *options, "--", *self.line(*arguments), **more)

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a tune of a minute in the background.

        Ctrl-C reaches it also where the tests are a job in the background themselves, which ignores it.
        """
        command = [
            "env",
            "--default-signal=INT",
            MPIRIC,
            "tune",
            "--json",
            "--budget",
            "60s",
            "--",
            *self.line(*arguments),
        ]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command,
            cwd=self.place,
            env=self.environment,
            stdout=pipe,
            stderr=pipe,
            text=True,
            start_new_session=True,
        )

    @property
    def store(self) -> Path:
        return Path(self.environment["XDG_STATE_HOME"]) / "mpiric/tunes"

    def trials(self) -> int:
        """Return the number of trials in the store."""
        # Unlike rglob, os.walk tolerates directories of trials that are removed meanwhile.
        logs = [
            Path(place, name)
            for place, _, names in os.walk(self.store)
            for name in names
            if name.endswith(".jsonl")
        ]
        return sum(line.count('"trial"') for path in logs for line in path.open())

    def strays(self) -> list[psutil.Process]:
        mine = str(self.program)
        return [
            process
            for process in psutil.process_iter(["cmdline", "status"])
            if mine in (process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE
        ]


def wait_for(condition: Callable[[], object], what: str, seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.05)


@pytest.fixture
def user(tmp_path: Path, compiled: Path, mpich: MpiLibrary, environment: dict[str, str]) -> Iterator[User]:
    place = tmp_path / "work"
    place.mkdir()
    someone = User(place, compiled, mpich, environment)
    yield someone
    for process in someone.strays():
        process.kill()


def rejected(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["changes"] == []
    return [entry["reason"] for entry in result["rejected"] if "malloc" in entry["configuration"]]


def test_run_passes_the_exit_status_through(user: User):
    plain = subprocess.run(user.line("exit", "7"), capture_output=True).returncode
    assert plain == 7
    assert user.run("run", "--no-recipe", "--", *user.line("exit", "7")).returncode == plain


def test_a_program_that_fails_by_itself_is_reported_with_its_output(user: User):
    done = user.tune("exit", "3")
    assert done.returncode == ExitCode.PROGRAM_FAILED
    assert done.stdout == ""
    assert "does not work as it stands" in done.stderr
    assert "ending with 3" in done.stderr


def test_a_setting_that_changes_the_answer_is_rejected(user: User):
    reasons = rejected(user.tune("differs"))
    assert reasons
    assert all("the answer is" in reason or "number" in reason for reason in reasons), reasons


def test_a_setting_that_makes_the_program_hang_is_rejected(user: User):
    reasons = rejected(user.tune("hangs"))
    assert reasons
    assert not user.strays()


def test_a_setting_that_makes_the_program_crash_is_rejected(user: User):
    assert rejected(user.tune("crashes"))


def test_piped_input_reaches_every_run(user: User):
    done = user.tune("echoes", input="a line\nand another\n")
    assert done.returncode == 0, done.stderr
    outputs = [path.read_text() for path in user.store.rglob("*.stdout")]
    assert outputs
    assert set(outputs) == {"a line\nand another\n"}


def test_ctrl_c_prints_the_best_so_far_and_resume_goes_on(user: User):
    tune = user.begin("sleeps", "0.3")
    wait_for(lambda: user.trials() >= 5, "five trials")
    os.killpg(tune.pid, signal.SIGINT)  # signals the whole group, like a terminal
    stdout, stderr = tune.communicate(timeout=60)
    assert tune.returncode == 130, stderr
    before = json.loads(stdout)
    assert before["interrupted"]
    assert before["runs"] >= 4
    assert not user.strays()
    after = user.run("tune", "--json", "--budget", "6s", "--resume", "--", *user.line("sleeps", "0.3"))
    assert after.returncode == 0, after.stderr
    assert json.loads(after.stdout)["runs"] > before["runs"]


def test_kill_9_leaves_no_process_and_a_store_that_resume_reads(user: User):
    tune = user.begin("sleeps", "0.3")
    wait_for(lambda: user.trials() >= 4, "four trials")
    wait_for(user.strays, "a running trial")
    tune.kill()
    tune.communicate(timeout=60)
    wait_for(lambda: not user.strays(), "the end of its processes")
    after = user.run("tune", "--json", "--budget", "6s", "--resume", "--", *user.line("sleeps", "0.3"))
    assert after.returncode == 0, after.stderr
    assert json.loads(after.stdout)["runs"] > 4


def test_two_tunes_at_once_keep_apart(user: User):
    tunes = [user.begin("sleeps", "0.05") for _ in range(2)]
    wait_for(lambda: user.trials() >= 10, "ten trials")
    for tune in tunes:
        tune.send_signal(signal.SIGINT)
    results = [json.loads(tune.communicate(timeout=60)[0]) for tune in tunes]
    assert len({result["store"] for result in results}) == 2


def test_a_home_that_cannot_be_written_is_named_with_a_way_out(user: User, tmp_path: Path):
    nowhere = "/proc/no-home"  # not even root makes a directory here
    names = [name for name in user.environment if not name.startswith("XDG_")]
    user.environment = {**{name: user.environment[name] for name in names}, "HOME": nowhere}
    done = user.tune("sleeps", "0.01")
    assert done.returncode == ExitCode.NO_ROOM
    assert nowhere in done.stderr
    assert "--store" in done.stderr
    assert user.run("run", "--", *user.line("exit", "5")).returncode == 5
    assert user.tune("sleeps", "0.01", options=("--store", str(tmp_path / "store"))).returncode == 0


@pytest.mark.requires("root", "unshare", "mount")
def test_a_full_disk_ends_the_tune_with_a_clear_message(user: User, tmp_path: Path):
    full = tmp_path / "full"
    full.mkdir()
    inner = f"mount -t tmpfs -o size=40k none {full} && exec {MPIRIC} tune --budget 20s --store {full} -- "
    command = ["unshare", "--mount", "sh", "-c", inner + " ".join(user.line("sleeps", "0.01"))]
    done = subprocess.run(
        command, cwd=user.place, env=user.environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == ExitCode.NO_ROOM, done.stderr
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr
    assert not user.strays()


@pytest.fixture
def recipe(user: User) -> Path:
    """A sound recipe for the user's program, in their directory."""
    host = LocalHost()
    expected = parse_job(user.line("exit", "0"), host, str(user.place), user.environment)
    assert expected.mpi is not None
    mark = fingerprint(expected.job, expected.machine, expected.mpi, host)
    chosen = Configuration((("malloc", "keep-memory"),))
    path = user.place / "recipe.toml"
    write_recipe(
        path, Recipe("ending", chosen, mark, None, tuple(expected.job.argv), "2026-01-01T00:00:00+00:00")
    )
    return path


def applied(user: User, recipe: Path) -> subprocess.CompletedProcess[str]:
    return user.run("run", "--recipe", str(recipe), "--", *user.line("differs"))


def test_a_sound_recipe_is_applied(user: User, recipe: Path):
    done = applied(user, recipe)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "the answer is 43\n"  # malloc is tuned


def edit(recipe: Path, before: str, after: str) -> None:
    text = recipe.read_text()
    assert before in text
    recipe.write_text(text.replace(before, after))


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        ('"keep-memory"', '"keep-mem', "line"),
        ('malloc = "keep-memory"', 'preload = "/tmp/evil.so"', "preload"),
        ('"keep-memory"', '"$(touch pwned)"', "malloc"),
        ('"keep-memory"', "[1, 2]", "malloc"),
        ('implementation = "mpich"', 'implementation = "openmpi"', "mpi.implementation"),
        ('"ending', '"another', "program.name"),
    ],
)
def test_a_recipe_edited_or_made_for_something_else_is_refused(
    user: User, recipe: Path, before: str, after: str, word: str
):
    edit(recipe, before, after)
    done = applied(user, recipe)
    assert done.returncode in {ExitCode.USAGE, ExitCode.MISMATCH}
    assert done.stdout == ""
    assert str(recipe) in done.stderr
    assert word in done.stderr
    assert not (user.place / "pwned").exists()


def test_a_recipe_cut_off_anywhere_is_refused(user: User, recipe: Path):
    text = recipe.read_text()
    for stored in (0, len(text) // 3, len(text) // 2):
        recipe.write_text(text[:stored])
        done = applied(user, recipe)
        assert done.returncode in {ExitCode.USAGE, ExitCode.MISMATCH}
        assert str(recipe) in done.stderr


def test_a_recipe_of_another_machine_is_applied_with_a_warning(user: User, recipe: Path):
    edit(recipe, "memory_gib = ", 'memory_gib = "12345" # ')
    done = applied(user, recipe)
    assert done.returncode == 0, done.stderr
    assert "tuned on another machine: machine.memory_gib: 12345 when tuned" in done.stderr
