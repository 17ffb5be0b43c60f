"""Trial directories: each trial sees the directory as it was at the start; the original is not touched."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from mpiric.host.isolation.trial_area import PREFIX
from mpiric.host.isolation.working_copies import CopyPolicy, WorkingCopies
from mpiric.model.errors import MpiricError, NoRoomError


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A working directory two levels deep, with a neighbour."""
    work = tmp_path / "project" / "run"
    work.mkdir(parents=True)
    (tmp_path / "project" / "mesh").mkdir()
    (tmp_path / "project" / "mesh" / "grid").write_text("grid")
    (work / "in.dat").write_text("original")
    return work


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def leftovers(*places: Path) -> list[Path]:
    return [area for place in places if place.exists() for area in place.glob(f"{PREFIX}*")]


def test_files_written_by_a_trial_do_not_reach_the_original(work, store):
    with WorkingCopies(work, store) as copies:
        (copies.fresh().path / "in.dat").write_text("trial")
    assert (work / "in.dat").read_text() == "original"


def test_a_file_edited_meanwhile_does_not_change_later_trials(work, store):
    with WorkingCopies(work, store) as copies:
        (work / "in.dat").write_text("edited")
        assert (copies.fresh().path / "in.dat").read_text() == "original"


def test_a_trial_does_not_see_files_of_the_previous_one(work, store):
    with WorkingCopies(work, store) as copies:
        (copies.fresh().path / "restart").write_text("x")
        assert not (copies.fresh().path / "restart").exists()


def test_every_trial_has_the_same_path(work, store):
    with WorkingCopies(work, store) as copies:
        assert copies.fresh().path == copies.fresh().path


def test_the_copy_bears_the_name_of_the_original(work, store):
    with WorkingCopies(work, store) as copies:
        assert copies.fresh().path.name == "run"


def test_a_neighbour_of_the_original_is_found_by_dot_dot(work, store):
    with WorkingCopies(work, store) as copies:
        assert (copies.fresh().path / ".." / "mesh" / "grid").read_text() == "grid"


def test_two_levels_up_is_found_too(work, store):
    with WorkingCopies(work, store) as copies:
        assert (copies.fresh().path / ".." / ".." / "project" / "mesh" / "grid").read_text() == "grid"


def test_working_copies_are_removed_at_the_end(work, store):
    with WorkingCopies(work, store) as copies:
        copies.fresh()
        assert leftovers(store)
    assert leftovers(store, work, work.parent) == []


def test_a_read_only_directory_in_a_trial_is_removed_too(work, store):
    (work / "frozen").mkdir()
    (work / "frozen" / "x").write_text("x")
    (work / "frozen").chmod(0o555)
    with WorkingCopies(work, store) as copies:
        assert (copies.fresh().path / "frozen").stat().st_mode & 0o777 == 0o555
    assert leftovers(store) == []


def test_leftovers_of_a_killed_mpiric_are_removed_by_the_next_one(work, store):
    script = """
        import os, sys
        from pathlib import Path
        from mpiric.host.isolation.working_copies import WorkingCopies
        WorkingCopies(Path(sys.argv[1]), Path(sys.argv[2])).__enter__().fresh()
        os.kill(os.getpid(), 9)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(work), str(store)], check=False)
    (leftover,) = leftovers(store)
    with WorkingCopies(work, store):
        assert not leftover.exists()


def test_the_area_of_a_living_mpiric_is_left_alone(work, store):
    with WorkingCopies(work, store) as living, WorkingCopies(work, store):
        assert (living.fresh().path / "in.dat").exists()


def test_the_area_of_another_host_is_left_alone(work, store):
    area = store / f"{PREFIX}other"
    area.mkdir(parents=True)
    (area / "owner").write_text("otherhost 0-0 1 1")
    with WorkingCopies(work, store):
        pass
    assert area.exists()


def test_a_store_inside_the_directory_is_not_copied(work):
    (work / "store").mkdir()
    (work / "store" / "trials.jsonl").write_text("{}")
    with WorkingCopies(work, work / "store") as copies:
        assert not (copies.fresh().path / "store").exists()


@pytest.mark.skipif(Path("/dev/shm").stat().st_dev == Path("/tmp").stat().st_dev, reason="one file system")
def test_a_store_on_another_file_system_is_not_used_for_copies(work):
    store = Path("/dev/shm") / f"mpiric-test-{os.getpid()}"
    try:
        with WorkingCopies(work, store) as copies:
            assert copies.fresh().path.stat().st_dev == work.stat().st_dev
            assert leftovers(work.parent)
        assert leftovers(work.parent) == []
    finally:
        shutil.rmtree(store)


def test_too_many_files_are_refused_with_the_way_out(work, store):
    for number in range(5):
        (work / f"{number}").touch()
    with pytest.raises(MpiricError, match="more than 3 files") as raised:
        WorkingCopies(work, store, CopyPolicy(files_limit=3)).__enter__()
    assert "--in-place" in raised.value.hint


def test_too_much_data_is_refused_and_the_largest_file_named(work, store):
    (work / "large.bin").write_bytes(os.urandom(3 << 20))
    with pytest.raises(MpiricError, match=r"largest: large\.bin") as raised:
        WorkingCopies(work, store, CopyPolicy(bytes_limit=1 << 20)).__enter__()
    assert "--in-place" in raised.value.hint
    assert leftovers(store) == []


def test_in_place_runs_in_the_directory_itself(work, store):
    with WorkingCopies(work, store, CopyPolicy(in_place=True)) as copies:
        assert copies.fresh().path == work


def test_in_place_new_files_are_seen(work, store):
    with WorkingCopies(work, store, CopyPolicy(in_place=True)) as copies:
        trial = copies.fresh()
        (work / "out").write_text("x")
        assert list(trial.written()) == ["out"]


@pytest.fixture
def linked(work, store):
    """Copies of a directory with one large file, large being 1 KiB here; None where data is shared anyway."""
    (work / "large.bin").write_bytes(b"a" * 4096)
    with WorkingCopies(work, store, CopyPolicy(link_from_bytes=1024)) as copies:
        if copies.fresh().path.joinpath("large.bin").stat().st_nlink == 1:
            pytest.skip("this file system shares data between copies")
        yield copies


def test_a_large_file_is_not_a_link_to_the_users_own(work, linked):
    with (linked.fresh().path / "large.bin").open("r+b") as file:
        file.write(b"b")
    assert (work / "large.bin").read_bytes() == b"a" * 4096


def test_a_large_file_that_a_trial_changed_is_whole_again_in_the_next(linked):
    with (linked.fresh().path / "large.bin").open("r+b") as file:
        file.write(b"b")
    assert (linked.fresh().path / "large.bin").read_bytes() == b"a" * 4096


def test_a_large_file_changed_by_a_trial_is_reported(linked):
    with (linked.fresh().path / "large.bin").open("r+b") as file:
        file.write(b"b")
    linked.fresh()
    assert linked.notes == ["the program writes into large.bin: it is copied for each trial"]


def test_a_large_file_that_a_trial_changed_counts_as_changed(linked):
    trial = linked.fresh()
    with (trial.path / "large.bin").open("r+b") as file:
        file.write(b"b")
    assert list(trial.written()) == ["large.bin"]


def test_a_large_file_that_a_trial_and_the_user_changed_ends_the_comparison(work, store):
    (work / "large.bin").write_bytes(b"a" * 4096)
    with WorkingCopies(work, store, CopyPolicy(link_from_bytes=1024)) as copies:
        path = copies.fresh().path / "large.bin"
        if path.stat().st_nlink == 1:
            pytest.skip("this file system shares data between copies")
        path.open("r+b").write(b"b")
        (work / "large.bin").write_bytes(b"c")
        with pytest.raises(MpiricError, match="no longer comparable"):
            copies.fresh()
    assert leftovers(store) == []


@pytest.mark.requires("root", "mount")
def test_a_full_disk_is_reported_and_leaves_no_files(tmp_path, work):
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], check=True)
    try:
        run = small / "run"
        run.mkdir()
        (run / "data").write_bytes(os.urandom(700 << 10))
        with pytest.raises(NoRoomError) as raised:
            WorkingCopies(run, small / "store").__enter__()
        assert raised.value.hint
        assert leftovers(small / "store", small, run) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_an_ordinary_user_without_a_writable_directory_gets_an_error(as_nobody):
    script = """
        from pathlib import Path
        from mpiric.host.isolation.working_copies import WorkingCopies
        from mpiric.model.errors import NoRoomError
        try:
            WorkingCopies(Path("/usr/share/misc"), Path("/nowhere/store")).__enter__()
        except NoRoomError as error:
            print(error.message, error.hint)
    """
    done = as_nobody(script)
    assert "/nowhere" in done.stdout, done.stderr
    assert "--store" in done.stdout


def test_a_read_only_working_directory_is_copied_into_the_store(as_nobody):
    script = """
        import tempfile
        from pathlib import Path
        from mpiric.host.isolation.working_copies import WorkingCopies
        with tempfile.TemporaryDirectory() as store:
            with WorkingCopies(Path("/usr/share/misc"), Path(store)) as copies:
                (copies.fresh().path / "new").write_text("x")
                print("written")
            print(*Path(store).iterdir())
    """
    done = as_nobody(script)
    assert done.stdout.split() == ["written"], done.stderr


def test_an_ordinary_user_can_remove_files_that_a_trial_locked(as_nobody):
    script = """
        import tempfile
        from pathlib import Path
        from mpiric.host.isolation.working_copies import WorkingCopies
        with tempfile.TemporaryDirectory() as store:
            with WorkingCopies(Path("/usr/share/misc"), Path(store)) as copies:
                locked = copies.fresh().path / "locked"
                (locked / "deep" / "deeper").mkdir(parents=True)
                (locked / "deep" / "file").write_text("x")
                (locked / "deep" / "deeper").chmod(0)
                (locked / "deep").chmod(0o500)
                locked.chmod(0o500)
            print("left:", *Path(store).iterdir())
    """
    done = as_nobody(script)
    assert done.stdout == "left:\n", done.stderr
