"""A layer is one file: an example layer, listed after the runtime's own, sees the calls that it asks for."""

import re
import subprocess
from pathlib import Path

import pytest
from tests.support.native_programs import native_program
from tests.support.oversubscription import yielding

from mpiric.profile.read import read_record

HERE = Path(__file__).parent / "layers"
RUNTIME = HERE.parents[2] / "src/runtime"
LAYER_FOLDERS = ("deferred", "layouts", "order", "record", "select", "steps")
MOST_LINES = 60

pytestmark = pytest.mark.requires("mpi:mpich")


@pytest.fixture
def run(mpi_prefix, environment, tmp_path):
    """`run(**variables)` on two ranks with a runtime that has the example layer: its output."""
    program = tmp_path / "barriers"
    prefix = mpi_prefix("mpich")
    subprocess.run([prefix / "bin/mpicc", "-o", program, HERE / "barriers.c"], check=True)

    def start(**variables):
        settings = {"LD_PRELOAD": yielding(native_program("layered_mpich.so")), **variables}
        options = [str(argument) for name, value in settings.items() for argument in ("-genv", name, value)]
        argv = [prefix / "bin/mpiexec", "-n", "2", *options, program]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        return sorted(done.stdout.splitlines())

    return start


def test_example_layer_counts_barriers(run):
    assert run(COUNT_BARRIERS="1") == ["rank 0: 3 barriers", "rank 1: 3 barriers"]
    assert run() == []


def test_layers_are_not_called_after_the_end(run):
    assert "a call after the end" not in run(COUNT_BARRIERS="1")


def test_example_layer_works_with_the_record(run, tmp_path):
    settings = {"MPIRIC_RECORD_DIR": tmp_path / "record", "MPIRIC_MERGE": "tree"}
    assert run(COUNT_BARRIERS="1", **settings) == ["rank 0: 3 barriers", "rank 1: 3 barriers"]
    record = read_record(tmp_path / "record")
    assert [sum(c.calls for c in rank.cells if c.function == "MPI_Barrier") for rank in record.ranks] == [
        3,
        3,
    ]


def test_example_layer_is_one_short_file():
    assert len((HERE / "barrier_counter.cpp").read_text().splitlines()) <= MOST_LINES


def test_layers_do_not_include_each_other():
    for room in ("symbols", *LAYER_FOLDERS):
        for source in (RUNTIME / room).rglob("*.[ch]pp"):
            used = set(re.findall(r'#include "(\w+)/', source.read_text())) & set(LAYER_FOLDERS)
            assert used <= {room}, source
