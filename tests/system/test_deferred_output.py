"""Output that the runtime holds back: the same bytes, order and answers; no more lost than was said."""

import errno
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.lab import fs
from tests.support.oversubscription import yielding
from tests.support.preloaded import NATIVE

HERE = Path(__file__).parent
EVERYTHING = {
    "MPIRIC_STDOUT_KIB": "64",
    "MPIRIC_STDIO_KIB": "256",
    "MPIRIC_WRITE_BEHIND_KIB": "64",
}
RANKS = 2
LINES = 500
FAST = ("targets=4", *fs.FAST)

pytestmark = pytest.mark.requires("mpi:mpich")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("deferred")


@pytest.fixture
def compiled(place, mpi_prefix):
    """Return `compiled(name)`: a program built once from a source next to this file."""

    def build(name: str) -> Path:
        program = place / name
        if not program.exists():
            mpicc = mpi_prefix("mpich") / "bin/mpicc"
            subprocess.run([mpicc, "-O1", "-o", program, HERE / f"{name}.c"], check=True)
        return program

    return build


@pytest.fixture
def run(environment, mpi_prefix):
    """`run(settings, *program)` under MPICH; the runtime is loaded where there are settings."""

    def start(settings, *program, ranks=RANKS, before=(), **options):
        launcher = mpi_prefix("mpich") / "bin/mpiexec"
        preload = yielding(NATIVE / "mpich/libmpiric.so") if settings else yielding()
        variables = {"LD_PRELOAD": preload, **settings}
        command = [word for name, value in variables.items() for word in ("-genv", name, value)]
        options = {"capture_output": True, "text": True, "timeout": 100, **options}
        argv = [launcher, "-n", ranks, *before, *command, *program]
        return subprocess.run([str(word) for word in argv], env=environment, **options)

    return start


@pytest.mark.parametrize("seed", range(1, 6))
def test_random_calls_return_the_same_and_leave_the_same_files(seed, run, compiled, tmp_path):
    def traces(name, settings):
        place = tmp_path / name
        (place / "work").mkdir(parents=True)
        before = ["-outfile-pattern", place / "out.%r"]
        arguments = (seed, 1500, place / "log")
        done = run(settings, compiled("random_file_calls"), *arguments, before=before, cwd=place / "work")
        assert done.returncode == 0, done.stderr
        return {
            str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()
        }

    plain, deferred = traces("plain", {}), traces("deferred", EVERYTHING)
    assert deferred.keys() == plain.keys()
    assert [name for name in plain if plain[name] != deferred[name]] == []


@pytest.mark.parametrize("how", ["line-buffered", "flushed", "written", "printed"])
def test_lines_come_whole_and_in_order(how, run, compiled):
    done = run(EVERYTHING, compiled("lines"), how, LINES)
    assert done.returncode == 0, done.stderr
    observed = [
        tuple(map(int, re.match(r"rank (\d) line (\d+),.* 73$", line).groups()))
        for line in done.stdout.splitlines()
    ]
    for rank in range(RANKS):
        assert [line for of, line in observed if of == rank] == list(range(LINES))


@pytest.mark.parametrize("end", ["_exit", "abort", "fault", "MPI_Abort"])
def test_nothing_that_was_flushed_is_lost_however_the_program_ends(end, run, compiled):
    done = run(EVERYTHING, compiled("lines"), "flushed", LINES, end, ranks=1)
    assert len(re.findall(r"^rank 0 line", done.stdout, re.MULTILINE)) == LINES


def test_lines_come_while_the_program_does_something_else(compiled, environment, mpi_prefix):
    preload = yielding(NATIVE / "mpich/libmpiric.so")
    settings = {**EVERYTHING, "LD_PRELOAD": preload}
    command = [word for name, value in settings.items() for word in ("-genv", name, value)]
    argv = [
        mpi_prefix("mpich") / "bin/mpiexec",
        "-n",
        "1",
        *command,
        compiled("lines"),
        "flushed",
        "3",
        "sleep",
    ]
    with subprocess.Popen(
        [str(word) for word in argv], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        observed = [process.stdout.readline() for _ in range(3)]
        assert process.poll() is None
        process.terminate()
    assert [line.split(",")[0] for line in observed] == [f"rank 0 line {number}" for number in range(3)]


def test_a_killed_program_has_lost_no_more_than_the_buffers(compiled, environment, mpi_prefix, tmp_path):
    buffer = int(EVERYTHING["MPIRIC_WRITE_BEHIND_KIB"]) << 10
    settings = {**EVERYTHING, "LD_PRELOAD": yielding(NATIVE / "mpich/libmpiric.so")}
    command = [word for name, value in settings.items() for word in ("-genv", name, value)]
    for moment_ms in (10, 50, 110):
        progress, data = tmp_path / f"progress{moment_ms}", tmp_path / f"data{moment_ms}"
        argv = [
            mpi_prefix("mpich") / "bin/mpiexec",
            "-n",
            "1",
            *command,
            compiled("writes"),
            "count",
            data,
            progress,
        ]
        with subprocess.Popen(
            [str(word) for word in argv], env=environment, start_new_session=True
        ) as process:
            while not (progress.exists() and progress.stat().st_size > 100):
                assert process.poll() is None
                time.sleep(0.01)
            time.sleep(moment_ms / 1000)
            os.kill(int(progress.with_suffix(".pid").read_text()), signal.SIGKILL)
        # Before each write of 100 bytes to this file, one byte is written to another file.
        written = progress.stat().st_size
        content = data.read_bytes()
        assert written * 100 - buffer - 100 <= len(content)
        assert (
            content == (b"x" * 99 + b"\n") * (len(content) // 100) + (b"x" * 99 + b"\n")[: len(content) % 100]
        )


@pytest.mark.requires("header:fuse3/fuse.h", "fusermount3", "pkg-config", "g++", "fuse", "root")
@pytest.mark.parametrize(("fault", "number"), [("full 0", errno.ENOSPC), ("error", errno.EIO)])
@pytest.mark.parametrize("how", ["written", "printed"])
def test_a_fault_reaches_the_program_no_later_than_close(how, fault, number, run, compiled, place, tmp_path):
    with fs.client(fs.build(place / "labfs"), tmp_path / "state", tmp_path / "mnt", *FAST) as lab:
        done = run(
            EVERYTHING, compiled("writes"), how, lab.mount / "file", lab.state / "faults", fault, ranks=1
        )
    assert done.stdout.splitlines() == [f"failed {number}"], done.stderr
