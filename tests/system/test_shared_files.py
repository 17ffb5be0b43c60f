"""File statistics of `mpiric profile` for files written through MPI-IO, with each library."""

import json
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "runtime_programs/shared_files.c"
RANKS, BLOCK_BYTES = 2, 8192


def test_places_and_makers_of_shared_files_are_known(mpi, environment, run_mpiric, tmp_path, monkeypatch):
    if "c" not in mpi.compilers:
        pytest.skip("no C compiler of this library")
    program = tmp_path / "shared_files"
    built = {**environment, **mpi.environment}
    subprocess.run([mpi.compilers["c"], str(SOURCE), "-o", program], check=True, env=built)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    command = ("--", mpi.launcher, "-n", str(RANKS), program)
    done = run_mpiric("profile", "--json", "-o", tmp_path / "p", *command, env=mpi.environment)
    assert done.returncode == 0, done.stderr
    every = json.loads(done.stdout)["io"]["files"]
    files = {Path(file["path"]).name: file for file in every if file["interface"] == "mpi-io"}
    patterns = {"strided": "strided", "segmented": "segmented", "gaps": "strided", "shared": None}
    assert {name: file["pattern"] for name, file in files.items()} == patterns
    for file in files.values():
        assert (file["created_by"], file["opened"]) == (0, ["create", "write"])
        assert file["ranks_in_one_stripe"] is None  # the library chooses the rank that writes
    assert files["strided"]["largest"] == BLOCK_BYTES
    assert [files[name]["unaligned"] for name in ("strided", "segmented", "gaps")] == [0, 0, RANKS - 1]
