"""Marks of real programs: content, early end of runs, and absence of side effects."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.oversubscription import OVERSUBSCRIBED, yielding
from tests.support.preloaded import NATIVE

from mpiric.model.errors import MpiricError
from mpiric.model.pace import MarkKey, MarksState, mark_option
from mpiric.profile.marks import read_marks
from mpiric.profile.pace import run_pace
from mpiric.profile.read import read_record
from mpiric.tuning.policy_files import read_learned

PROGRAMS = Path(__file__).parent / "runtime_programs"
ENDLESS = 2_000_000_000  # steps: such a run is over only when something ends it
ANYWHERE = MarkKey("MPI_Allreduce", "", 0, 0)


@pytest.fixture
def steps(mpi, environment, tmp_path):
    """steps.c, built for the library."""
    if "c" not in mpi.compilers:
        pytest.skip("no C compiler of this library")
    program = tmp_path / "steps"
    subprocess.run(
        [mpi.compilers["c"], "-O1", "-pthread", str(PROGRAMS / "steps.c"), "-o", str(program)],
        check=True,
        env={**environment, **mpi.environment},
    )
    return program


@pytest.fixture
def armed(mpi, steps, mpi_run, tmp_path):
    """Return `armed(name, mark, ranks, N, HOW)`: the run, and the content of its directory."""

    def run(name, mark, ranks, *arguments, **settings):
        variables = {"MPIRIC_MARK": mark, "MPIRIC_MARK_OUT": str(tmp_path / name), **settings, **crowded(mpi)}
        arguments = [*preloaded(mpi), steps, *arguments]
        return mpi_run(mpi, ranks, *arguments, env=variables), read_marks(tmp_path / name)

    return run


def preloaded(mpi):
    return "env", f"LD_PRELOAD={yielding(NATIVE / mpi.abi_families[0].value / 'libmpiric.so')}"


def crowded(mpi):
    return OVERSUBSCRIBED[mpi.implementation]


def learned(mpi, steps, mpi_run, tmp_path, ranks, *arguments):
    """Return the pace of a run of the original from its record."""
    record = tmp_path / "learned"
    variables = {"MPIRIC_RECORD_DIR": str(record), "MPIRIC_MERGE": "tree", **crowded(mpi)}
    done = mpi_run(mpi, ranks, *preloaded(mpi), steps, *arguments, env=variables)
    assert done.returncode == 0, done.stderr
    return run_pace(read_record(record))


def key_of(pace, function):
    (results,) = [entry for entry in pace.first_rank.keys if entry.key.function == function]
    return results.key


def test_a_key_of_the_record_marks_the_same_calls_of_every_run(mpi, steps, armed, mpi_run, tmp_path):
    pace = learned(mpi, steps, mpi_run, tmp_path, 3, "100", "copy")
    for rank in pace.ranks:
        created = {(entry.key.function, entry.key.place[:5]): entry.calls for entry in rank.keys}
        assert created["MPI_Sendrecv", "steps"] == created["MPI_Allreduce", "steps"] == 100
    stored = pace.first_rank.of(key_of(pace, "MPI_Allreduce"))
    assert (stored.stride, len(stored.times_s), stored.key.ranks, stored.key.birth) == (2, 50, 3, 1)
    assert list(stored.times_s) == sorted(stored.times_s)
    mark = mark_option(stored.key, 20, 80)
    done, first = armed("first", mark, 3, "100", "copy")
    _, second = armed("second", mark, 3, "100", "copy")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "finished"
    for run in (first, second):
        assert [(rank.first.calls, rank.last.calls) for rank in run.ranks] == [(40, 160)] * 3
        assert [(rank.first.bytes, rank.last.bytes) for rank in run.ranks] == [(320, 1280)] * 3
        assert {rank.state for rank in run.ranks} == {MarksState.FINALIZED}
    for rank, again in zip(first.ranks, second.ranks, strict=True):
        assert rank.results == again.results
        *results, messages = rank.results
        assert [(entry.key, entry.results) for entry in results] == [(stored.key, 80)]
        # Of the step before the mark alone: between the 79th and the 80th sum there is one message.
        assert (messages.key.function, messages.results) == ("MPI_Sendrecv", 1)
        assert 0 < rank.first.at_s < rank.last.at_s < rank.finalize_s


def test_a_run_ends_at_its_last_mark_with_its_output_written(armed):
    done, run = armed("out", mark_option(ANYWHERE, 50, 200), 3, ENDLESS, MPIRIC_MARK_END="1")
    assert done.stdout.startswith("step 0 value ")
    lines = done.stdout.splitlines()
    assert len(lines) >= 199
    assert [int(line.split()[1]) for line in lines[:199]] == list(range(199))
    assert run.ranks[0].state is MarksState.ENDED
    assert {rank.calls for rank in run.ranks} == {200}
    assert all("passed" in rank.flags for rank in run.ranks)


def test_what_was_learned_of_collectives_is_written_before_the_end(armed, tmp_path):
    learned = tmp_path / "learned.json"
    variables = {
        "MPIRIC_COLLECTIVES": "online",
        "MPIRIC_POLICY_OUT": str(learned),
        "MPIRIC_LEARN_AT_MOST": "0",
    }
    how = {**variables, "MPIRIC_MARK_END": "1"}
    _, run = armed("out", mark_option(ANYWHERE, 50, 400), 3, ENDLESS, "copy", **how)
    assert run.ranks[0].state is MarksState.ENDED
    (key, *_) = [entry for entry in read_learned(learned).keys if entry.collective == "allreduce"]
    assert key.shape.ranks == 3
    assert key.learning_calls > 0


def test_a_recorded_run_writes_out_what_is_buffered_when_it_is_about_to_be_ended(
    mpi, steps, environment, eventually, tmp_path
):
    """MPIRIC_FLUSH_AT, as `profile --for` sets it; the output goes into a file, which stdio buffers."""
    output = tmp_path / "stdout"
    variables = {"MPIRIC_RECORD_DIR": str(tmp_path / "record"), "MPIRIC_FLUSH_AT": f"{time.time() + 1.5:.3f}"}
    paths = {
        "LD_LIBRARY_PATH": ":".join(mpi.library_path),
        "PATH": ":".join([*mpi.search_path, environment["PATH"]]),
    }
    with (
        output.open("wb") as file,
        subprocess.Popen(
            [mpi.launcher, "-n", "1", *preloaded(mpi), steps, "2000000000", "quiet"],
            env={**environment, **mpi.environment, **paths, **variables, **crowded(mpi)},
            stdout=file,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as run,
    ):
        assert eventually(lambda: output.read_bytes() == b"few words\n")
        os.killpg(run.pid, signal.SIGKILL)
        for rank in running(steps):
            with suppress(ProcessLookupError):
                os.kill(rank, signal.SIGKILL)


def test_a_run_can_end_at_a_send(armed):
    done, run = armed(
        "out",
        mark_option(MarkKey("MPI_Sendrecv", "", 3, 0), 50, 200),
        3,
        ENDLESS,
        "sends",
        MPIRIC_MARK_END="1",
    )
    assert done.stdout.startswith("step 0 value ")
    assert run.ranks[0].state is MarksState.ENDED
    assert [rank.last.calls for rank in run.ranks] == [200] * 3


@pytest.mark.parametrize(("how", "function"), [("workers", "MPI_Send"), ("fed", "MPI_Ssend")])
def test_of_master_and_workers_rank_0_alone_counts(how, function, armed):
    """Workers make no calls that could count steps."""
    mark = mark_option(MarkKey(function, "", 3, 0), 50, 200)
    _, run = armed("out", mark, 3, ENDLESS, how, MPIRIC_MARK_END="1", MPIRIC_MARK_RANKS="first")
    assert run.ranks[0].state is MarksState.ENDED
    assert [rank.calls for rank in run.ranks] == [200, 0, 0]
    assert all(rank.last is not None for rank in run.ranks)
    assert all("passed" in rank.flags for rank in run.ranks)


NEVER = {
    "too few calls": mark_option(ANYWHERE, 5, 200),
    "another place": mark_option(MarkKey("MPI_Allreduce", "steps+0x1", 2, 0), 5, 20),
    "another size": mark_option(MarkKey("MPI_Allreduce", "", 3, 0), 5, 20),
    "another module": mark_option(MarkKey("MPI_Barrier", "libelsewhere.so+0x1", 2, 7), 5, 20),
    "no step": mark_option(MarkKey("MPI_Wait", "", 2, 0), 5, 20),
    "no numbers": "MPI_Allreduce",
}
UNDER_EACH_LIBRARY = (("all", "too few calls"), ("first", "another place"))  # values of the quick tests


@pytest.mark.parametrize(
    ("ranks", "why"),
    [
        pytest.param(ranks, why, marks=[] if (ranks, why) in UNDER_EACH_LIBRARY else pytest.mark.sweep)
        for ranks in ("all", "first")
        for why in NEVER
    ],
)
def test_a_mark_that_never_comes_changes_nothing(ranks, why, mpi, steps, mpi_run, tmp_path):
    variables = {"MPIRIC_MARK": NEVER[why], "MPIRIC_MARK_OUT": str(tmp_path / "out"), "MPIRIC_MARK_END": "1"}
    variables |= {"MPIRIC_MARK_RANKS": ranks, **crowded(mpi)}
    plain = mpi_run(mpi, 2, steps, "100", env=crowded(mpi))
    done = mpi_run(mpi, 2, *preloaded(mpi), steps, "100", env=variables)
    assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, plain.stderr)
    run = read_marks(tmp_path / "out")
    assert {rank.state for rank in run.ranks} == {MarksState.FINALIZED}
    is_none = why in ("no step", "no numbers")
    assert all(("not_understood" in rank.flags) == is_none for rank in run.ranks)


def test_a_mark_that_only_some_ranks_come_to_ends_nothing(armed):
    mark = mark_option(MarkKey("MPI_Sendrecv", "", 3, 0), 5, 80)
    done, run = armed("out", mark, 3, "100", "unequal", MPIRIC_MARK_END="1")
    assert (done.returncode, done.stdout) == (0, "finished\n"), done.stderr
    assert [rank.last is not None for rank in run.ranks] == [True, True, False]
    assert {rank.state for rank in run.ranks} == {MarksState.FINALIZED}


def test_threads_at_once_are_counted_and_said(armed):
    done, run = armed("out", mark_option(ANYWHERE, 50, 190), 2, "100", "threads")
    assert done.returncode == 0, done.stderr
    for rank in run.ranks:
        assert (rank.calls, rank.last.calls) == (190, 190)
        assert "thread_multiple" in rank.flags
    _, ended = armed("ended", mark_option(ANYWHERE, 50, 190), 2, "100000000", "threads", MPIRIC_MARK_END="1")
    assert ended.ranks[0].state is MarksState.ENDED


def test_of_threads_at_once_the_pace_is_learned(mpi, steps, mpi_run, tmp_path):
    pace = learned(mpi, steps, mpi_run, tmp_path, 2, "100", "threads")
    for rank in pace.ranks:
        paces = [entry for entry in rank.keys if entry.key.function == "MPI_Allreduce"]
        assert [(entry.calls, entry.stride) for entry in paces] == [(100, 2)] * 2
    assert [len(entry.times_s) for entry in pace.first_rank.keys if entry.calls == 100] == [50, 50]


def test_main_takes_times_alone(armed):
    done, run = armed("out", "main", 2, "100", MPIRIC_MARK_END="1")
    assert done.returncode == 0, done.stderr
    for rank in run.ranks:
        assert rank.init_s > 0
        assert rank.finalize_s > 0
        assert (rank.first, rank.calls, rank.results) == (None, 0, ())


def test_of_a_type_with_holes_nothing_is_digested(armed):
    _, first = armed("first", mark_option(MarkKey("MPI_Bcast", "", 2, 0), 1, 200), 2, "100", "holes")
    _, second = armed("second", mark_option(MarkKey("MPI_Bcast", "", 2, 0), 1, 200), 2, "100", "holes")
    assert [entry.results for entry in first.ranks[1].results] == [100]
    assert first.ranks[1].results[0].latest == (99,)
    assert first.ranks[1].results == second.ranks[1].results


def test_while_it_is_recorded_only_times_are_taken(mpi, armed, tmp_path):
    mark = mark_option(ANYWHERE, 5, 20)
    done, run = armed("out", mark, 2, "100", MPIRIC_RECORD_DIR=str(tmp_path / "record"), MPIRIC_MARK_END="1")
    assert done.returncode == 0, done.stderr
    assert all("recorded" in rank.flags and rank.finalize_s and not rank.calls for rank in run.ranks)
    assert len(read_record(tmp_path / "record").ranks) == 2


DEBIAN = {"mpich": ["mpiexec.mpich"], "openmpi": ["mpirun.openmpi", "--oversubscribe"]}


@pytest.mark.parametrize(
    "family",
    [pytest.param(name, marks=pytest.mark.requires(f"debian-{name}", "gfortran")) for name in DEBIAN],
)
def test_what_fortran_has_buffered_is_written_before_the_end(family, environment, tmp_path):
    program = tmp_path / "steps"
    source = str(PROGRAMS / "steps.f90")
    subprocess.run([f"mpif90.{family}", source, "-o", program], check=True, cwd=tmp_path)
    mark = mark_option(ANYWHERE, 50, 200)  # valid for every language: the call site is in MPI's own layer
    variables = {"MPIRIC_MARK": mark, "MPIRIC_MARK_OUT": str(tmp_path / "out"), "MPIRIC_MARK_END": "1"}
    command = ["env", f"LD_PRELOAD={yielding(NATIVE / family / 'libmpiric.so')}", program]
    done = subprocess.run(
        [*DEBIAN[family], "-n", "2", *command],
        env={**environment, **variables},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    steps_said = [line.split() for line in done.stdout.splitlines() if line.split()[:1] == ["step"]]
    assert [int(command[1]) for command in steps_said[:199]] == list(range(1, 200))
    written = (tmp_path / "steps.txt").read_text().splitlines()
    assert [int(line.split()[1]) for line in written[:199]] == list(range(1, 200))
    rank = read_marks(tmp_path / "out").ranks[1]
    (place,) = rank.results
    assert (place.results, place.latest) == (200, (401.0,))


def test_the_pace_of_a_run_can_be_read_while_it_runs_and_after_a_kill(
    mpi, steps, environment, eventually, tmp_path
):
    record = tmp_path / "record"
    variables = {"MPIRIC_RECORD_DIR": str(record), "MPIRIC_MERGE": "tree"}
    paths = {
        "LD_LIBRARY_PATH": ":".join(mpi.library_path),
        "PATH": ":".join([*mpi.search_path, environment["PATH"]]),
    }

    def calls() -> int:
        try:
            pace = run_pace(read_record(record))
        except MpiricError:
            return 0
        return max((entry.calls for rank in pace.ranks for entry in rank.keys), default=0)

    with subprocess.Popen(
        [mpi.launcher, "-n", "2", *preloaded(mpi), steps, str(ENDLESS)],
        env={**environment, **mpi.environment, **paths, **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as run:
        assert eventually(lambda: calls() > 1000)
        os.killpg(run.pid, signal.SIGKILL)
        for rank in running(steps):  # ranks that a launcher may have put into a new session
            with suppress(ProcessLookupError):
                os.kill(rank, signal.SIGKILL)
    assert eventually(lambda: not running(steps))
    assert calls() > 1000
    pace = run_pace(read_record(record))
    stored = pace.first_rank.of(key_of(pace, "MPI_Allreduce"))
    assert 32 <= len(stored.times_s) <= 64
    assert stored.times_s[-1] <= pace.first_rank.seen_s


def running(program: Path) -> list[int]:
    """Return the processes of this machine with a program in their command line."""
    results = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if str(program).encode() in path.read_bytes():
                results.append(int(path.parent.name))
    return results


@pytest.fixture
def in_mpich(environment, mpi_prefix, tmp_path):
    """`in_mpich(source)` runs a program on two ranks of MPICH, whose processes all have the runtime."""

    def run(source):
        program, prefix = tmp_path / Path(source).stem, mpi_prefix("mpich")
        command = [prefix / "bin/mpicc", str(PROGRAMS / source), "-o", program]
        subprocess.run(command, check=True, env={**environment, "LD_LIBRARY_PATH": str(prefix / "lib")})
        variables = {
            "LD_PRELOAD": yielding(NATIVE / "mpich/libmpiric.so"),
            "MPIRIC_MARK": mark_option(ANYWHERE, 1, 500),
            "MPIRIC_MARK_OUT": str(tmp_path / "out"),
            "MPIRIC_MARK_END": "1",
        }
        flags = [word for name, value in variables.items() for word in ("-genv", name, value)]
        return subprocess.run(
            [prefix / "bin/mpiexec", *flags, "-n", "2", program],
            env={**environment, "LD_LIBRARY_PATH": str(prefix / "lib")},
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.mark.requires("mpi:mpich")
def test_of_sessions_only_times_are_taken(in_mpich, tmp_path):
    done = in_mpich("sessions.c")
    assert done.returncode == 0, done.stderr
    for rank in read_marks(tmp_path / "out").ranks:
        assert "sessions" in rank.flags
        assert (rank.state, rank.calls) == (MarksState.FINALIZED, 0)


@pytest.mark.requires("mpi:mpich")
def test_spawned_ranks_count_nothing_and_hold_up_nobody(in_mpich, tmp_path):
    done = in_mpich("spawns.c")
    assert (done.returncode, done.stdout) == (0, "sum 2\n" * 4), done.stderr
    written = [read_marks(directory).ranks for directory in apart(tmp_path / "out")]
    spawned = {"spawned" in rank.flags: rank.calls for ranks in written for rank in ranks}
    assert spawned == {True: 0, False: 100}


def apart(directory: Path) -> list[Path]:
    """Each marks file of a directory in one of its own: ranks of two worlds have the same numbers."""
    alone = []
    for number, path in enumerate(sorted(directory.glob("*.marks"))):
        place = directory / str(number)
        place.mkdir()
        alone.append(path.rename(place / path.name).parent)
    return alone
