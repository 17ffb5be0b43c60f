"""`mpiric nodes` on this machine and on the virtual cluster: slow nodes, lost nodes, the ledger."""

import json
import os
import sys
from pathlib import Path

import pytest
from tests.conftest import clean_environment
from tests.lab import cluster
from tests.lab.plan import Plan, host_names, networks
from tests.lab.programs import mpi_environment

from mpiric.model.errors import ExitCode

MPIRIC = str(Path(sys.executable).parent / "mpiric")
CONTROL_GROUPS = Path("/sys/fs/cgroup/cpu")
needs_lab = pytest.mark.requires("root", "netns", "ip", "tc", "gcc", "mpi:mpich")
needs_quota = pytest.mark.skipif(
    not (CONTROL_GROUPS / "cpu.shares").exists(),
    reason="the test sets CPU quotas by control groups of version 1",
)


@pytest.mark.requires("mpi:mpich")
@pytest.mark.timeout(300)
def test_one_node_is_measured_and_kept_in_the_ledger(run_mpiric, mpi_prefix, tmp_path):
    store = {"XDG_STATE_HOME": str(tmp_path)}
    launcher = mpi_prefix("mpich") / "bin/mpiexec"
    done = run_mpiric("nodes", "--json", "--hosts", "localhost", "--", launcher, env=store)
    assert done.returncode == 0, done.stderr
    (node,) = json.loads(done.stdout)["nodes"]
    assert {"arithmetic", "slowest core", "memory bandwidth"} <= set(node["speeds"])
    # A busy machine ends fewer passes of the memory bandwidth within their time.
    assert all(1 <= len(values) <= 8 and min(values) > 0 for values in node["speeds"].values())
    assert "MPICH" in node["settings"]["MPI library"]
    rows = json.loads(run_mpiric("nodes", "--history", "--json", env=store).stdout)["measurements"]
    assert [row["host"] for row in rows] == [node["host"]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--hosts", "n["), "this host list cannot be read"),
        (("--hosts", "n1", "--", "/bin/true"), "the MPI library of /bin/true is unknown"),
    ],
)
def test_bad_input_is_answered_by_a_sentence(run_mpiric, arguments, sentence):
    done = run_mpiric("nodes", *arguments)
    assert done.returncode
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.requires("mpi:mpich")
def test_without_allocation_and_hosts_the_option_is_named(run_mpiric, mpi_prefix):
    done = run_mpiric("nodes", "--", mpi_prefix("mpich") / "bin/mpiexec")
    assert done.returncode == ExitCode.USAGE
    assert "no hosts are named" in done.stderr
    assert "--hosts" in done.stderr


@pytest.fixture
def quotas():
    """Yield a control group for each host, in which n2 gets half of the CPU time of the others."""
    root = CONTROL_GROUPS / f"mpiric-test-{os.getpid()}"
    root.mkdir()
    for host in ("n1", "n2", "n3"):
        (root / host).mkdir()
        (root / host / "cpu.cfs_quota_us").write_text("15000" if host == "n2" else "30000")
    yield root
    for host in ("n1", "n2", "n3"):
        (root / host).rmdir()
    root.rmdir()


@needs_lab
@needs_quota
@pytest.mark.sweep
@pytest.mark.timeout(600)
def test_a_node_with_less_cpu_time_is_named_although_another_one_does_not_start(quotas, mpi_prefix, tmp_path):
    state = tmp_path / "state"
    # Each host's processes run in its control group; the launcher is on a host of its own.
    agent = tmp_path / "agent"
    agent.write_text(
        "#!/bin/sh\n"
        "for word; do case $word in -*) ;; *) host=$word; break ;; esac; done\n"
        f"echo $$ > {quotas}/$host/tasks\n"
        f'exec {state}/bin/ssh "$@"\n'
    )
    agent.chmod(0o755)
    cluster.up(
        state,
        Plan(host_names("4"), networks=networks(["eth0:rate=2gbit,mtu=9000"]), shares=(str(tmp_path),)),
    )
    try:
        environment = mpi_environment(
            "mpich", mpi_prefix("mpich"), {**clean_environment(), "XDG_STATE_HOME": str(tmp_path)}
        )
        launch = f"mpiexec -launcher ssh -launcher-exec {agent}"
        command = f"{MPIRIC} nodes --json --hosts n1,n2,n3,nowhere -- {launch}"
        done = cluster.run(state, "n4", ["sh", "-c", command], environment, timeout=500)
    finally:
        cluster.down(state)
    answer = json.loads(done.stdout)
    assert done.returncode == ExitCode.SLOWER
    assert answer["slow"] == ["n2"]
    assert {entry["quantity"] for entry in answer["outliers"]} >= {"arithmetic"}
    assert answer["exclude"] == "--hosts n1,n3"
    assert list(answer["failed"]) == ["nowhere"]
    assert "nowhere was not measured" in done.stderr
