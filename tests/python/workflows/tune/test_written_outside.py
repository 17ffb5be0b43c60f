"""Files that a program writes outside of its directory are reported: trials share them."""

import pytest
from tests.support.replay_host import Recording, ReplayHost
from tests.support.written_files import output

from mpiric.model.profile import Behaviour
from mpiric.workflows.tune.check_answer import written_outside


def sentences_about(*paths, ends_at_mark=True, existing=(), **options):
    behaviour = Behaviour({}, files=tuple(output(path, 2, **options) for path in paths))
    host = ReplayHost(Recording(files=dict.fromkeys(existing, "")))
    return written_outside(behaviour, {"TMPDIR": "/scratch/tmp"}, host, ends_at_mark=ends_at_mark)


def test_files_outside_are_reported_with_their_treatment():
    (sentence,) = sentences_about("out.dat", "/scratch/out.dat", "../states/0")
    assert sentence.startswith("it writes ../states/0, /scratch/out.dat outside of the directory")
    assert sentence.endswith("it is left as a run leaves it that is ended early")
    (sentence,) = sentences_about("/scratch/out.dat", ends_at_mark=False)
    assert sentence.endswith("it is left as the last run left it")


@pytest.mark.parametrize("path", ["out.dat", "/dev/shm/segment", "/tmp/x", "/scratch/tmp/x", "..data"])
def test_files_in_the_directory_and_temporary_files_are_not_reported(path):
    assert sentences_about(path) == []


def test_files_that_are_only_read_are_not_reported():
    assert sentences_about("/scratch/in.dat", writes=0) == []
    assert written_outside(None, {}, ReplayHost(Recording()), ends_at_mark=True) == []


@pytest.mark.parametrize("path", ["/tmp/results.log", "/dev/shm/state", "/scratch/tmp/x"])
def test_a_temporary_file_that_stays_is_reported(path):
    (sentence,) = sentences_about(path, existing=[path])
    assert path in sentence


def test_files_that_are_appended_to_are_distinguished():
    (sentence,) = sentences_about("/data/history.log", opened=("write", "append"))
    assert sentence.startswith("it appends to /data/history.log")


def test_many_files_are_reported_by_their_number():
    (sentence,) = sentences_about(*(f"/data/{number:02}" for number in range(12)))
    assert "/data/09 and 2 more" in sentence
