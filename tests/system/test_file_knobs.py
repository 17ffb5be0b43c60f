"""Layouts and hints of MPI-IO as they are set: on the lab's Lustre, under real libraries."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.lab import fs
from tests.lab.programs import mpi_environment
from tests.support.oversubscription import OVERSUBSCRIBED

from mpiric.profile.files import read_hints
from mpiric.storage import _lov

SOURCE = Path(__file__).with_name("written_files.c")
RANKS = 4
FAST = ("targets=8", *fs.FAST)
LAB = pytest.mark.requires("header:fuse3/fuse.h", "fusermount3", "pkg-config", "g++", "fuse", "root")
pytestmark = pytest.mark.requires("debian-mpich")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    place = tmp_path_factory.mktemp("programs")
    subprocess.run(["mpicc.mpich", "-o", place / "writes", SOURCE], check=True)
    return place


@pytest.fixture
def lab(programs, tmp_path):
    with fs.client(fs.build(programs / "labfs"), tmp_path / "s", tmp_path / "m", *FAST) as it:
        work = it.mount / "work"
        (work / "out").mkdir(parents=True)
        yield it


def run(run_mpiric, lab, programs, *arguments, cwd=None):
    launch = ("mpiexec.mpich", "-n", str(RANKS), programs / "writes")
    work = cwd or lab.mount / "work"
    return run_mpiric(
        *arguments, "--", *launch, cwd=work, env={"PATH": lab.environment["PATH"]} if lab else {}
    )


def layout(path):
    result = _lov.parse(os.getxattr(path, _lov.ATTRIBUTE))
    return [(entry.count, entry.size_bytes, entry.end_bytes) for entry in result.stripes]


@LAB
def test_a_directory_is_laid_out_before_the_launch(run_mpiric, lab, programs):
    done = run(run_mpiric, lab, programs, "run", "--no-recipe", "--set", "layout=out/:4x1MiB")
    assert (done.returncode, done.stdout) == (0, f"written by {RANKS}\n"), done.stderr
    work = lab.mount / "work"
    assert layout(work / "out/through_mpi") == [(4, 1 << 20, None)]
    assert layout(work / "own.0") == [(1, 1 << 20, None)]


@LAB
def test_files_are_laid_out_by_name_also_where_all_ranks_make_one_at_once(run_mpiric, lab, programs):
    rules = "layout=*.bin:3x1MiB;own.*:1x64KiB@1MiB,allx4MiB;through_*:5x1MiB"
    done = run(run_mpiric, lab, programs, "run", "--no-recipe", "--set", rules)
    assert (done.returncode, done.stdout) == (0, f"written by {RANKS}\n"), done.stderr
    work = lab.mount / "work"
    assert [layout(work / f"at_once.{turn}.bin") for turn in range(20)] == [[(3, 1 << 20, None)]] * 20
    together = b"".join(bytes([ord("a") + rank]) * 1000 for rank in range(RANKS))
    assert (work / "at_once.7.bin").read_bytes() == together
    assert layout(work / "own.3") == [(1, 64 << 10, 1 << 20), (8, 4 << 20, None)]
    assert layout(work / "out/through_mpi") == [(5, 1 << 20, None)]
    assert not [path for path in work.rglob("*") if path.name.startswith(".mpiric")]


@LAB
def test_a_layout_that_the_servers_refuse_is_said_and_files_are_as_they_would_have_been(
    run_mpiric, lab, programs, tmp_path
):
    work, rules = lab.mount / "work", "*.bin 3x100000"  # no multiple of 64 KiB
    launch = ("mpiexec.mpich", "-genv", "MPIRIC_FILE_LAYOUTS", rules, "-n", str(RANKS), programs / "writes")
    done = run_mpiric("profile", "-o", tmp_path / "record", "--", *launch, cwd=work)
    assert done.returncode == 0, done.stderr
    assert "files keep the layout of their directory: theirs cannot be set: at_once.0.bin" in done.stderr
    assert layout(work / "at_once.0.bin") == [(1, 1 << 20, None)]
    together = b"".join(bytes([ord("a") + rank]) * 1000 for rank in range(RANKS))
    assert (work / "at_once.0.bin").read_bytes() == together
    assert not [path for path in work.rglob("*") if path.name.startswith(".mpiric")]


@LAB
def test_a_file_that_is_there_keeps_its_layout_and_its_bytes(run_mpiric, lab, programs):
    work = lab.mount / "work"
    (work / "at_once.0.bin").write_bytes(b"x" * 9000)
    done = run(run_mpiric, lab, programs, "run", "--no-recipe", "--set", "layout=*.bin:3x1MiB")
    assert done.returncode == 0, done.stderr
    assert layout(work / "at_once.0.bin") == [(1, 1 << 20, None)]
    assert (work / "at_once.0.bin").read_bytes().endswith(b"x" * (9000 - RANKS * 1000))


@LAB
def test_without_lfs_the_run_is_as_it_would_have_been(run_mpiric, lab, programs, tmp_path):
    launch = ("mpiexec.mpich", "-n", str(RANKS), programs / "writes")
    command = ("run", "--no-recipe", "--set", "layout=out/:4x1MiB", "--", *launch)
    done = run_mpiric(*command, cwd=lab.mount / "work")
    assert (done.returncode, done.stdout) == (0, f"written by {RANKS}\n"), done.stderr
    assert "lfs is not there" in done.stderr
    assert layout(lab.mount / "work/out/through_mpi") == [(1, 1 << 20, None)]


def test_on_another_file_system_a_layout_is_left_out_with_a_sentence(run_mpiric, programs, tmp_path):
    (tmp_path / "out").mkdir()
    command = ("run", "--no-recipe", "--set", "layout=out/:4x1MiB")
    done = run(run_mpiric, None, programs, *command, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"written by {RANKS}\n"), done.stderr
    assert "layout=out/:4x1MiB is not applied: " in done.stderr


def test_hints_are_given_at_the_open_and_the_programs_own_win(run_mpiric, programs, tmp_path):
    (tmp_path / "out").mkdir()
    hints = "through_* cb_nodes=2 cb_buffer_size=8388608;* cb_buffer_size=4194304"
    launch = ("mpiexec.mpich", "-genv", "MPIRIC_FILE_HINTS", hints, "-n", str(RANKS), programs / "writes")
    done = run_mpiric("profile", "-o", tmp_path / "record", "--", *launch, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    in_force = read_hints(tmp_path / "record")["out/through_mpi"]
    assert (in_force["cb_buffer_size"], in_force["cb_nodes"]) == ("8388608", "1")


def test_romio_obeys_the_exported_file(run_mpiric, programs, tmp_path):
    (tmp_path / "out").mkdir()
    launch = ("mpiexec.mpich", "-n", str(RANKS), programs / "writes")
    setting = ("--set", "mpi-io=cb_buffer_size=8388608")
    shown = run_mpiric("run", "--no-recipe", "--json", *setting, "--", *launch, cwd=tmp_path)
    environment = json.loads(shown.stdout)["env"]
    assert set(environment) == {"ROMIO_HINTS"}, shown.stderr
    assert run_mpiric("run", "--no-recipe", *setting, "--", *launch, cwd=tmp_path).returncode == 0
    for path in tmp_path.glob("own.*"):
        path.unlink()
    done = run_mpiric("profile", "-o", tmp_path / "record", "--", *launch, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert read_hints(tmp_path / "record")["out/through_mpi"]["cb_buffer_size"] == "8388608"


@LAB
@pytest.mark.requires("mpi:intelmpi")
def test_intel_mpis_driver_for_lustre_runs_and_stripes_what_it_makes(run_mpiric, lab, mpi_prefix, tmp_path):
    prefix, work = mpi_prefix("intelmpi"), lab.mount / "work"
    calls = fs.lustre_calls(tmp_path / "lustre_calls.so")
    environment = mpi_environment("intelmpi", prefix, lab.environment)
    waiting = OVERSUBSCRIBED["intelmpi"]
    program = tmp_path / "writes"
    subprocess.run([prefix / "bin/mpicc", "-o", program, SOURCE], check=True, env=environment)
    launch = ("mpiexec", "-n", str(RANKS), program)
    stripes = {}
    for driver in ([], ["--set", "mpi-io-driver=native"]):
        command = ("run", "--no-recipe", "--set", "mpi-io=striping_factor=4", *driver, "--", *launch)
        done = run_mpiric(*command, cwd=work, env={**environment, **waiting, "LD_PRELOAD": str(calls)})
        assert (done.returncode, done.stdout) == (0, f"written by {RANKS}\n"), done.stderr
        stripes[bool(driver)] = layout(work / "out/through_mpi")
        for path in (*work.glob("own.*"), *work.glob("out/*")):
            path.unlink()
    assert stripes == {False: [(1, 1 << 20, None)], True: [(4, 1 << 20, None)]}


@LAB
def test_a_tune_says_what_was_written_and_when_it_was_safe(run_mpiric, lab, programs):
    command = ("tune", "--only", "layout", "--json", "--max-runs", "12", "--io-budget", "1GiB")
    done = run(run_mpiric, lab, programs, *command)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["class"], result["prepare"], result["hints"]) == ("same-moment", [], {})
    assert result["tried"] == ["layout"]
    assert result["io"]["bytes_written"] == RANKS * 2 * 200000 + 20 * RANKS * 1000
    assert result["io"]["safe_s"] >= result["io"]["exit_s"] > 0
    assert any("of 1 GiB (--io-budget 1GiB)" in note for note in result["notes"])
    assert sorted(path.name for path in (lab.mount / "work").iterdir()) == ["out"]
