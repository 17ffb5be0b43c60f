"""Logs of Darshan from the PyDarshan package: reading, sums, and advice."""

import importlib.util
import json
from pathlib import Path

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.model.errors import ExitCode, MpiricError
from mpiric.model.storage import Stripes
from mpiric.profile.advise import advise_on
from mpiric.profile.darshan import read_log

LOGS = Path(getattr(importlib.util.find_spec("darshan"), "origin", "") or "/nowhere").parent / "tests/input"
BAD, SHARED = LOGS / "sample-badost.darshan", LOGS / "sample.darshan"

pytestmark = [pytest.mark.requires("imports:darshan"), pytest.mark.slow]


def test_a_file_through_mpi_counts_once():
    run = read_log(SHARED, LocalHost())
    assert (run.ranks, run.wall_s) == (2048, 117.0)
    (file,) = [used_file for used_file in run.files if used_file.path.endswith(".hdf5")]
    assert (file.interface, file.ranks, file.bytes_written) == ("mpi-io", 2048, 2199023259968)
    assert (file.opens, file.writes) == (2048, 16402)


def test_a_file_per_rank_has_its_layout():
    run = read_log(BAD, LocalHost())
    files = [used_file for used_file in run.files if used_file.layout]
    assert len(files) == 2048
    assert {used_file.layout.stripes for used_file in files} == {(Stripes(1, 1 << 20),)}
    assert {used_file.ranks for used_file in files} == {1}


def test_data_missing_in_a_log_give_no_number():
    assert not {"close_share", "flushes", "mpi_share"} & read_log(BAD, LocalHost()).numbers.keys()


def test_doctor_reports_findings_of_a_log(run_mpiric):
    done = run_mpiric("doctor", "--json", "--darshan", BAD)
    assert done.returncode == 0, done.stderr
    ids = [item["id"] for item in json.loads(done.stdout)["findings"]]
    assert ids == [item.finding.id for item in advise_on(read_log(BAD, LocalHost()).numbers, "")]
    assert "one-rank-writes" in ids
    assert run_mpiric("doctor", "--darshan", BAD, "--fail-on", "one-rank-writes").returncode == ExitCode.FOUND


def test_an_invalid_log_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "x.darshan").write_text("no log")
    with pytest.raises(MpiricError, match="cannot be read as a Darshan log"):
        read_log(tmp_path / "x.darshan", LocalHost())


def test_doctor_without_a_command_or_a_log_says_so(run_mpiric):
    done = run_mpiric("doctor")
    assert done.returncode == ExitCode.USAGE
    assert "-- CMD" in done.stderr
