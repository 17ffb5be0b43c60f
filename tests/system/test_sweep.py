"""`mpiric sweep` with real libraries: what it measures becomes a policy and the library's own form of it."""

import json

import pytest

pytestmark = pytest.mark.requires("any-mpi")


def test_a_small_sweep_writes_policy_and_export_and_goes_on_where_it_stopped(mpi, run_mpiric, tmp_path):
    if mpi.implementation not in ("mpich", "openmpi", "intelmpi") or not mpi.launcher:
        pytest.skip(f"no candidates of {mpi.label}")
    out = tmp_path / "out"
    options = ("sweep", "--collectives", "bcast,barrier", "--sizes", "8,1K,64K", "--seconds", "0.002")
    if mpi.implementation != "mpich":
        options = (*options, "--no-own")  # the same under every library, and many
    launch = ("-o", out, "--", mpi.launcher, "-n", "2")

    first = run_mpiric(*options, "--json", *launch)
    assert first.returncode == 0, first.stderr
    said = json.loads(first.stdout)
    assert {key["collective"] for key in said["keys"]} == {"bcast", "barrier"}
    assert said["points"] > 6
    assert said["most_core_hours"] > 0
    assert "core-hours" in first.stderr
    assert (out / "mpiric.policy").read_text().startswith(f"mpiric-policy 1\nmpi {mpi.implementation} ")

    again = run_mpiric(*options, "--resume", "--json", *launch)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["points"] == 0
    assert json.loads(again.stdout)["keys"] == said["keys"]


def test_a_launch_line_that_names_no_library_is_refused(run_mpiric):
    done = run_mpiric("sweep", "--", "true")
    assert done.returncode == 122
    assert "hint:" in done.stderr
