"""Newlines in names, links, layouts that are refused and a quota: files are what they would have been."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.lab import fs

from mpiric.profile.files import read_hints
from mpiric.storage import _lov

HERE = Path(__file__).parent
RANKS = 2
MIB = 1 << 20
FAST = ("targets=8", *fs.FAST)
LAB = pytest.mark.requires("header:fuse3/fuse.h", "fusermount3", "pkg-config", "g++", "fuse", "root")
pytestmark = pytest.mark.requires("debian-mpich")
HOLDS = [bytes([ord("a") + rank]) * 5000 for rank in range(RANKS)]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    place = tmp_path_factory.mktemp("programs")
    subprocess.run(["mpicc.mpich", "-o", place / "odd", HERE / "odd_names.c"], check=True)
    return place


@pytest.fixture
def lab(programs, tmp_path):
    with fs.client(fs.build(programs / "labfs"), tmp_path / "s", tmp_path / "m", *FAST) as it:
        furnish(it.mount / "work")
        yield it


def furnish(work):
    (work / "real").mkdir(parents=True)
    (work / "linked").symlink_to("real")
    for rank in range(RANKS):
        (work / f"link.{rank}.bin").symlink_to(f"real/target.{rank}")
    return work


def run(run_mpiric, programs, work, *arguments, path="", **more):
    launch = ("mpiexec.mpich", "-n", str(RANKS), programs / "odd")
    environment = {"PATH": path or os.environ["PATH"], **more}
    return run_mpiric(*arguments, "--", *launch, cwd=work, env=environment)


def set_by_hand(run_mpiric, programs, work, value, **more):
    return run(run_mpiric, programs, work, "run", "--no-recipe", "--set", value, **more)


def stripes(path):
    return [
        (entry.count, entry.size_bytes) for entry in _lov.parse(os.getxattr(path, _lov.ATTRIBUTE)).stripes
    ]


def check(work):
    """Check that all files have the data of the ranks and that nothing of mpiric remains."""
    for rank, holds in enumerate(HOLDS):
        for name in (f"new\nline.{rank}.bin", f"real/own.{rank}.bin", f"real/target.{rank}"):
            assert (work / name).read_bytes() == holds, name
        assert (work / f"link.{rank}.bin").is_symlink()
    assert (work / "new\nline.mpi").read_bytes() == b"".join(HOLDS)
    assert not [path for path in work.rglob("*") if path.name.startswith((".mpiric", "mpiric-"))]


@LAB
def test_files_are_laid_out_by_name_also_through_a_linked_directory(run_mpiric, lab, programs):
    work = lab.mount / "work"
    done = set_by_hand(run_mpiric, programs, work, "layout=*.bin:3x1MiB", path=lab.environment["PATH"])
    assert (done.returncode, done.stdout) == (0, "written\n"), done.stderr
    check(work)
    for name in ("new\nline.1.bin", "real/own.1.bin"):
        assert stripes(work / name) == [(3, MIB)]
    assert stripes(work / "real/target.1") == [(1, MIB)]  # made where the link leads, not at its name


@LAB
def test_a_linked_directory_below_the_working_one_is_laid_out_and_one_elsewhere_is_not(
    run_mpiric, lab, programs
):
    work, elsewhere = lab.mount / "work", lab.mount / "elsewhere"
    elsewhere.mkdir()
    (work / "away").symlink_to(elsewhere)
    rules = "layout=linked/:4x1MiB;away/:4x1MiB"
    done = set_by_hand(run_mpiric, programs, work, rules, path=lab.environment["PATH"])
    assert (done.returncode, done.stdout) == (0, "written\n"), done.stderr
    check(work)
    assert stripes(work / "real/own.0.bin") == [(4, MIB)]
    assert "'away' is a link out of the working directory\nhint: " in done.stderr
    (elsewhere / "file").touch()
    assert stripes(elsewhere / "file") == [(1, MIB)]


@LAB
@pytest.mark.parametrize("rule", ["linked/:4x1MiB", "*.bin:4x1MiB"])
def test_without_the_right_to_set_a_layout_the_run_is_as_it_would_have_been(run_mpiric, lab, programs, rule):
    work = lab.mount / "work"
    lab.fault("nolayouts")
    done = set_by_hand(run_mpiric, programs, work, f"layout={rule}", path=lab.environment["PATH"])
    assert (done.returncode, done.stdout) == (0, "written\n"), done.stderr
    output = "files keep the layout of their directory" if "*" in rule else "Operation not permitted\nhint: "
    assert output in done.stderr
    check(work)
    assert stripes(work / "real/own.0.bin") == [(1, MIB)]


@LAB
def test_an_lfs_that_knows_no_such_layout_is_named_with_its_own_words(run_mpiric, lab, programs, tmp_path):
    work, old = lab.mount / "work", tmp_path / "old"
    old.mkdir()
    command = "lfs setstripe: invalid option -- 'C'"
    refuses = f'*" -C "*) echo "{command}" >&2; echo "usage: setstripe …" >&2; exit 1;;'
    script = f'#!/bin/sh\ncase " $* " in {refuses} esac\nexec {fs.SOURCES / "lfs"} "$@"\n'
    (old / "lfs").write_text(script)
    (old / "lfs").chmod(0o755)
    path = f"{old}:{lab.environment['PATH']}"
    done = set_by_hand(run_mpiric, programs, work, "layout=linked/:16x1MiB+over", path=path)
    assert (done.returncode, done.stdout) == (0, "written\n"), done.stderr
    assert f"cannot be carried out: {command}\nhint: " in done.stderr
    check(work)
    assert stripes(work / "real/own.0.bin") == [(1, MIB)]


@LAB
def test_a_quota_that_is_used_up_is_said_and_reaches_the_program(run_mpiric, lab, programs):
    work = lab.mount / "work"
    lab.fault("quota")
    target = {"path": lab.environment["PATH"], "USER": "root", "LAB_FS_QUOTA": "2048 2048"}
    done = set_by_hand(run_mpiric, programs, work, "layout=linked/:4x1MiB", **target)
    assert done.returncode == 3, done.stderr
    assert "your quota for the working directory is used up" in done.stderr
    assert f"({lab.mount}: 0 bytes left)\nhint: " in done.stderr
    plain = run(run_mpiric, programs, work, "run", "--no-recipe", **target)
    assert (plain.returncode, "quota" in plain.stderr) == (3, False)
    looked_at = run(run_mpiric, programs, work, "doctor", "--json", **target)
    answer = json.loads(looked_at.stdout[looked_at.stdout.index("{") :])["findings"]
    assert "quota-used-up" in {entry["id"] for entry in answer}, looked_at.stderr


def test_hints_and_the_record_know_a_file_with_a_newline(run_mpiric, programs, tmp_path):
    work, record = furnish(tmp_path / "work"), tmp_path / "record"
    hints = {"MPIRIC_FILE_HINTS": "new*.mpi cb_buffer_size=8388608"}
    launch = ("mpiexec.mpich", "-n", str(RANKS), programs / "odd")
    done = run_mpiric("profile", "--json", "-o", record, "--", *launch, cwd=work, env=hints)
    assert done.returncode == 0, done.stderr
    check(work)
    assert read_hints(record)["new?line.mpi"]["cb_buffer_size"] == "8388608"
    files = {entry["path"] for entry in json.loads(done.stdout.removeprefix("written\n"))["io"]["files"]}
    assert {f"new\N{REPLACEMENT CHARACTER}line.{end}" for end in ("0.bin", "1.bin", "mpi")} <= files
