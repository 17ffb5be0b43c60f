"""Input and signals of the user's command: as without mpiric, limited, and nothing is left behind."""

import os
import pty
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from mpiric.model.errors import ExitCode

_WAIT_S = 100
_SIGNALS = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
)
_LOGGER = """
import os, signal, sys, time
log, stop = sys.argv[1:3]
def note(number, _):
    with open(log, "a") as file:
        file.write(f"{number}\\n")
for number in (1, 2, 3, 10, 12, 15, 28):
    signal.signal(number, note)
open(f"{log}.pid", "w").write(str(os.getpid()))
os.rename(f"{log}.pid", f"{log}.ready")
while not os.path.exists(stop):
    time.sleep(0.02)
"""
# Runs a command twice, as trials do, with the input of this process.
_TRIALS = """
import os, sys
from mpiric.cli import _input
from mpiric.cli._errors import exit_with
from mpiric.host.processes.execution import Runner, Workspace
from mpiric.model.job import Launch

def work():
    _input._LIMIT_BYTES = int(os.environ.get("LIMIT_BYTES", _input._LIMIT_BYTES))
    _input._LIMIT_S = float(os.environ.get("LIMIT_S", _input._LIMIT_S))
    argv, here = tuple(sys.argv[1:]), os.getcwd()
    with _input.piped_input(argv) as stdin, Runner() as runner:
        for number in range(2):
            workspace = Workspace(here, f"{number}.out", "err")
            runner.execute(Launch(argv, here, stdin=stdin), os.environ, workspace, 60)
    return 0
exit_with(work)
"""


def wait_for(condition):
    """Wait for a condition that another process brings about, and return its value."""
    until = time.monotonic() + _WAIT_S
    while not (value := condition()):
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.02)
    return value


def noted(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().split()] if path.exists() else []


@pytest.fixture
def logger(tmp_path):
    """Return a command that logs received signals until the file ``stop`` exists."""
    program = tmp_path / "logger.py"
    program.write_text(_LOGGER)
    return [sys.executable, str(program), str(tmp_path / "log"), str(tmp_path / "stop")]


def start(verb: list[str], command: list[str], tmp_path: Path, **options) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-m", "mpiric", *verb, "--", *command]
    process = subprocess.Popen(arguments, cwd=tmp_path, **{"start_new_session": True, **options})
    wait_for((tmp_path / "log.ready").exists)
    return process


@pytest.mark.parametrize(
    "verb",
    [["profile", "-q", "--abi=mpich"], ["doctor", "--abi=mpich"], ["run", "--no-recipe"]],
    ids=lambda v: v[0],
)
def test_each_signal_to_mpiric_alone_reaches_the_launcher_once(verb, logger, tmp_path):
    process = start(verb, logger, tmp_path)
    for position, number in enumerate(_SIGNALS):
        os.kill(process.pid, number)
        wait_for(lambda: len(noted(tmp_path / "log")) > position)  # noqa: B023
    (tmp_path / "stop").touch()
    process.wait(_WAIT_S)
    assert noted(tmp_path / "log") == list(_SIGNALS)


@pytest.mark.parametrize(
    "verb", [["profile", "-q", "--abi=mpich"], ["run", "--no-recipe"]], ids=lambda v: v[0]
)
def test_each_signal_to_the_process_group_reaches_the_launcher_once(verb, logger, tmp_path):
    process = start(verb, logger, tmp_path)
    expected = []
    for number in _SIGNALS:
        # Signals to mpiric alone are passed on in order: the second shows that the first's turn is over.
        single = signal.SIGUSR2 if number == signal.SIGUSR1 else signal.SIGUSR1
        os.killpg(process.pid, number)
        expected.append(number)
        wait_for(lambda: len(noted(tmp_path / "log")) >= len(expected))
        for _ in range(2):
            os.kill(process.pid, single)
            expected.append(single)
            wait_for(lambda: len(noted(tmp_path / "log")) >= len(expected))
    (tmp_path / "stop").touch()
    process.wait(_WAIT_S)
    assert noted(tmp_path / "log") == expected


def test_nothing_is_left_in_the_process_group_when_mpiric_is_killed(logger, tmp_path):
    process = start(["profile", "-q", "--abi=mpich"], logger, tmp_path)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(_WAIT_S)
    (tmp_path / "stop").touch()

    def is_empty() -> bool:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return True
        return False

    wait_for(is_empty)


def test_a_key_of_the_terminal_reaches_the_launcher_once(logger, tmp_path):
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        command = [sys.executable, "-m", "mpiric", "profile", "--abi=mpich", "--", *logger]
        os.execv(sys.executable, command)
    wait_for((tmp_path / "log.ready").exists)
    expected = []
    for key, number in ((b"\x03", signal.SIGINT), (b"\x1c", signal.SIGQUIT)):
        os.write(terminal, key)
        wait_for(lambda: number in noted(tmp_path / "log"))  # noqa: B023
        os.kill(pid, signal.SIGUSR1)  # comes after the key: the signal of the key has been noted before
        expected += [number, signal.SIGUSR1]
        wait_for(lambda: len(noted(tmp_path / "log")) >= len(expected))  # noqa: B023
    (tmp_path / "stop").touch()
    os.waitpid(pid, 0)
    os.close(terminal)
    assert noted(tmp_path / "log") == expected


def test_mpiric_stops_and_continues_with_the_launcher(logger, tmp_path):
    process = start(["profile", "-q", "--abi", "mpich"], logger, tmp_path)
    launcher = int((tmp_path / "log.ready").read_text())

    def states() -> set[str]:
        return {Path(f"/proc/{entry}/stat").read_text().split()[2] for entry in (process.pid, launcher)}

    os.kill(launcher, signal.SIGSTOP)
    wait_for(lambda: states() == {"T"})
    os.kill(process.pid, signal.SIGCONT)
    wait_for(lambda: "T" not in states())
    (tmp_path / "stop").touch()
    assert process.wait(_WAIT_S) is not None


def test_run_hands_on_no_ignored_signals(tmp_path):
    show = ["sh", "-c", "grep SigIgn /proc/self/status"]
    command = [sys.executable, "-m", "mpiric", "run", "-q", "--no-recipe", "--", *show]
    mask = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout.split()[1]
    pipe_and_size = 1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)
    assert int(mask, 16) & pipe_and_size == 0


@pytest.mark.parametrize(
    "verb", [["profile", "-q", "--abi=mpich"], ["run", "--no-recipe"]], ids=lambda v: v[0]
)
def test_an_inherited_descriptor_reaches_the_command(verb, tmp_path):
    reading, writing = os.pipe()
    os.write(writing, b"from the shell")
    os.close(writing)
    command = [sys.executable, "-m", "mpiric", *verb, "--", "cp", f"/dev/fd/{reading}", "copy"]
    subprocess.run(command, cwd=tmp_path, pass_fds=(reading,), check=True, capture_output=True)
    os.close(reading)
    assert (tmp_path / "copy").read_text() == "from the shell"


@pytest.fixture
def trials(tmp_path):
    """Run a command twice, as trials; the output of each run is in 0.out and 1.out."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    program = tmp_path / "trials.py"
    program.write_text(textwrap.dedent(_TRIALS))

    def run(*argv, **options):
        environment = {**os.environ, "TMPDIR": str(temporary), **options.pop("env", {})}
        command = [sys.executable, str(program), *argv]
        return subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, **options)

    return run


def outputs(tmp_path: Path) -> list[str]:
    return [(tmp_path / f"{number}.out").read_text() for number in range(2)]


def test_every_trial_reads_the_whole_of_a_pipe(trials, tmp_path):
    process = trials("cat", stdin=subprocess.PIPE)
    process.communicate(b"a line\n", timeout=_WAIT_S)
    assert outputs(tmp_path) == ["a line\n"] * 2


def test_every_trial_reads_the_whole_of_a_named_pipe_and_of_an_inherited_file(trials, tmp_path):
    reading, writing = os.pipe()
    os.write(writing, b"a pipe, ")
    os.close(writing)
    (tmp_path / "file").write_bytes(b"skipped a file")
    with (tmp_path / "file").open("rb") as file:
        os.lseek(file.fileno(), len("skipped "), os.SEEK_SET)
        name = f"/dev/fd/{reading}"
        read = f"print(open({name!r}).read() + os.read({file.fileno()}, 99).decode(), end='')"
        show = [sys.executable, "-c", f"import os; {read}"]
        process = trials(*show, pass_fds=(reading, file.fileno()), stdin=subprocess.DEVNULL)
        process.communicate(timeout=_WAIT_S)
    os.close(reading)
    assert outputs(tmp_path) == ["a pipe, a file"] * 2


def test_the_rest_of_a_redirected_file_and_a_deleted_one_are_read(trials, tmp_path):
    (tmp_path / "file").write_bytes(b"read before|the rest")
    with (tmp_path / "file").open("rb") as file:
        os.lseek(file.fileno(), len("read before|"), os.SEEK_SET)
        (tmp_path / "file").unlink()
        trials("cat", stdin=file).communicate(timeout=_WAIT_S)
    assert outputs(tmp_path) == ["the rest"] * 2


def test_a_pipe_to_write_into_is_refused_by_name(trials, tmp_path):
    reading, writing = os.pipe()
    process = trials("tee", f"/dev/fd/{writing}", pass_fds=(writing,), stdin=subprocess.DEVNULL)
    _, error = process.communicate(timeout=_WAIT_S)
    os.close(reading)
    os.close(writing)
    assert process.returncode == ExitCode.USAGE
    assert f"/dev/fd/{writing}".encode() in error


def test_input_without_end_is_refused_by_its_size(trials, tmp_path):
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
        process = trials("cat", stdin=endless.stdout, env={"LIMIT_BYTES": str(1 << 20)})
        endless.stdout.close()
        _, error = process.communicate(timeout=_WAIT_S)
    assert process.returncode == ExitCode.USAGE
    assert b"more than 1 MiB" in error
    assert list((tmp_path / "temporary").iterdir()) == []


def test_input_that_does_not_end_in_time_is_refused(trials, tmp_path):
    process = trials("cat", stdin=subprocess.PIPE, env={"LIMIT_S": "1"})
    process.stdin.write(b"beginning")
    process.stdin.flush()
    error = process.stderr.read()
    assert process.wait(_WAIT_S) == ExitCode.USAGE
    assert b"did not end within 1 s" in error


@pytest.mark.parametrize("name", ["TERM", "KILL"])
def test_nothing_is_left_of_a_copy_when_mpiric_is_ended(name, trials, tmp_path):
    process = trials("sleep", "60", stdin=subprocess.PIPE)
    process.stdin.write(b"x" * 100_000)
    process.stdin.flush()
    copies = Path(f"/proc/{process.pid}/fd")

    def is_copying() -> bool:
        return any("temporary" in str(entry.readlink()) for entry in copies.iterdir())

    wait_for(is_copying)
    os.kill(process.pid, signal.Signals[f"SIG{name}"])
    process.wait(_WAIT_S)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_silent_pipe_is_said(trials, tmp_path):
    process = trials("cat", stdin=subprocess.PIPE)
    error = process.stderr.read()
    process.wait(_WAIT_S)
    assert b"nothing came" in error
    assert outputs(tmp_path) == ["", ""]
