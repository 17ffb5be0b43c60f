"""A full disk or a vanished directory loses the record, not the run: how the program ends stays its own."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mpiric.model.errors import ExitCode

PROGRAMS = Path(__file__).parent / "runtime_programs"

pytestmark = pytest.mark.requires("debian-mpich")


@pytest.fixture
def profiled(run_mpiric, tmp_path):
    """`profiled(directory, command, status)` profiles three ranks, of which one runs the command midway."""
    program = tmp_path / "interrupted"
    compiler = ["mpicc.mpich", str(PROGRAMS / "interrupted.c"), "-o", str(program)]
    subprocess.run(compiler, check=True, timeout=120)

    def run(directory, command="true", status=0, *options, verb="profile", **more):
        options = (*options, "-o", directory) if directory else options
        line = ("mpiexec.mpich", "-n", "3", program, command, status)
        return run_mpiric(verb, *options, "--", *line, **more)

    return run


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Callable[[int], Path]]:
    """`small_disk(kib)`: a file system of that size."""
    place = tmp_path / "small"

    def mount(kib: int) -> Path:
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "small", place], check=True)
        return place

    yield mount
    if place.is_mount():
        subprocess.run(["umount", "--lazy", place], check=True)


def fill(place: Path) -> None:
    with suppress(OSError), (place / "filler").open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass


def messages_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("mpiric: ")]


def test_a_directory_that_vanishes_midway(profiled, tmp_path):
    done = profiled(tmp_path / "p", f"rm -r {tmp_path}/p", 3, "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["exit_status"], answer["recorded"]) == (3, 3, False), done.stderr
    assert "the end" in done.stderr
    assert messages_of(done) == [
        "mpiric: the records of the ranks could not be written to one file: No such file or directory",
        f"mpiric: there is no record {tmp_path}/p",
    ]


def test_a_file_that_is_cut_short_costs_what_its_rank_recorded(profiled, tmp_path):
    done = profiled(tmp_path / "p", f"truncate -s 0 {tmp_path}/p/rank-1.*", 0, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [use["rank"] for use in answer["by_rank"]] == [0, 2]
    assert [pair[:3] for pair in answer["p2p"]] == [[0, 1, 2], [2, 0, 2]]
    assert messages_of(done) == [
        "mpiric: this rank's file was cut short or deleted: it records nothing any more"
    ]


@pytest.mark.requires("root", "mounts")
def test_a_disk_that_is_full_before_the_start(profiled, small_disk):
    place = small_disk(64)
    fill(place)
    done = profiled(place / "p", status=3)
    assert (done.returncode, done.stdout) == (3, "the end\n"), done.stderr
    assert messages_of(done) == [f"mpiric: {place}/p cannot be written: No space left on device"]


@pytest.mark.requires("root", "mounts")
def test_a_disk_that_has_room_for_one_rank_only(profiled, small_disk):
    done = profiled(small_disk(2048) / "p", "true", 0, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [use["rank"] for use in answer["by_rank"]] == [0, 1, 2]
    assert sorted(pair[:3] for pair in answer["p2p"]) == [[0, 1, 2], [1, 2, 2], [2, 0, 2]]
    assert any("No space left on device" in note for note in answer["notes"])
    assert messages_of(done) == []


@pytest.mark.requires("root", "mounts")
def test_a_disk_that_fills_up_midway(profiled, small_disk):
    place = small_disk(6144)
    done = profiled(place / "p", f"cat /dev/zero > {place}/filler 2> /dev/null", 3)
    assert (done.returncode, done.stdout) == (3, "the end\n"), done.stderr
    assert "MPI_Sendrecv" in done.stderr  # summary of the data that the ranks had left
    assert "No space left on device" in messages_of(done)[0]


@pytest.mark.requires("root", "mounts")
@pytest.mark.parametrize("verb", ["profile", "doctor"])
def test_a_disk_that_can_only_be_read(verb, profiled, small_disk):
    place = small_disk(64)
    subprocess.run(["mount", "-o", "remount,ro", place], check=True)
    done = profiled(place / "p", status=3, verb=verb)
    assert (done.returncode, done.stdout) == (3, "the end\n"), done.stderr
    assert messages_of(done)[0].startswith(f"mpiric: {place}/p cannot be written: Read-only file system")


@pytest.mark.parametrize("verb", ["profile", "doctor"])
def test_a_name_that_can_never_be_written_is_refused_before_anything_runs(verb, profiled):
    done = profiled("/proc/p", verb=verb)
    assert (done.returncode, done.stdout) == (ExitCode.NO_ROOM, "")
    assert "hint: name another directory with -o" in done.stderr


def test_a_doctor_who_cannot_write_where_he_is_goes_elsewhere(profiled):
    done = profiled(None, "true", 3, "--json", verb="doctor", cwd="/proc")
    assert (done.returncode, json.loads(done.stdout)["recorded"]) == (3, True), done.stderr


@pytest.mark.parametrize("verb", ["profile", "doctor"])
def test_words_that_find_no_room_do_not_change_how_the_program_ended(verb, profiled, tmp_path):
    with Path("/dev/full").open("w") as full:
        options = {"verb": verb, "capture_output": False, "stdout": full, "stderr": subprocess.PIPE}
        done = profiled(tmp_path / "p", "true", 3, "--json", **options)
    assert done.returncode == 3
    assert messages_of(done)[-1].endswith(": No space left on device")


@pytest.mark.parametrize("damaged", ["{", "", '{"mpiric_policy": 99}'])
def test_a_damaged_policy_of_the_site_does_not_keep_a_program_from_running(damaged, run_mpiric, tmp_path):
    (tmp_path / "mpich-4.policy.json").write_text(damaged)
    launch = ("mpiexec.mpich", "-n", "1", "sh", "-c", "echo here; exit 3")
    done = run_mpiric("run", "--", *launch, env={"MPIRIC_POLICIES": str(tmp_path)})
    assert (done.returncode, done.stdout) == (3, "here\n")
    assert any("the policy of this site is not applied" in line for line in messages_of(done)), done.stderr
