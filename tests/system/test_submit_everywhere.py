"""`--submit` and `--array` under every scheduler, played by its stand-in, with real programs."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import clean_environment
from tests.lab.programs import mpi_environment, ranks_program
from tests.support.stand_in import COMMANDS, StandIn

from mpiric.schedulers import batch_scheduler

MPIRIC = str(Path(sys.executable).parent / "mpiric")
PATIENCE_S = 90
pytestmark = pytest.mark.requires("gcc", "mpi:mpich")


class Login:
    """A user on the login node of a made-up cluster, whose one host is this machine."""

    def __init__(self, name, place, mpi_prefix):
        self.place, self.store = place, place / "store"
        (place / "work").mkdir()
        self.stand_in = StandIn(name, place, hosts=(socket.gethostname(),))
        environment = {**clean_environment(), "HOME": str(place), "PWD": str(place / "work")}
        environment = mpi_environment("mpich", mpi_prefix("mpich"), environment)
        cluster = self.stand_in.environment
        path = f"{cluster['PATH'].partition(':')[0]}:{environment['PATH']}"
        self.environment = {**environment, **cluster, "PATH": path, "MPIRIC_SCHEDULER": name}
        self.program = str(ranks_program("mpich", mpi_prefix, place))

    def start(self, *arguments):
        with (self.place / "stderr").open("a") as stderr:
            return subprocess.Popen(
                [MPIRIC, *arguments], env=self.environment, cwd=self.place / "work", text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True,
            )  # fmt: skip

    def tune(self, *arguments):
        options = (
            "--submit",
            "--json",
            "--store",
            str(self.store),
            "--budget",
            "5m",
            "--only",
            "malloc,pages",
        )
        return self.start("tune", *options, *arguments, "--", "mpiexec", "-n", "2", self.program)

    def finished(self, session):
        """Return the final output of a command."""
        output = session.communicate(timeout=PATIENCE_S)[0]
        assert session.returncode == 0, self.said
        return json.loads(output)

    def trials(self):
        lines = [line for path in self.store.glob("*/events.jsonl") for line in path.read_text().splitlines()]
        return [event for event in map(json.loads, lines) if event["event"] == "trial"]

    def await_that(self, condition):
        until = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < until, self.said
            time.sleep(0.1)

    @property
    def said(self):
        return (self.place / "stderr").read_text()

    def jobs(self):
        return [job for path in self.store.glob("*/jobs") for job in path.read_text().split()]


# One of them in every run of the tests: the others differ in syntax, which faster tests hold.
@pytest.fixture(
    params=[pytest.param(name, marks=[] if name == "pbs" else pytest.mark.sweep) for name in sorted(COMMANDS)]
)
def login(request, tmp_path, mpi_prefix):
    return Login(request.param, tmp_path, mpi_prefix)


def test_a_tune_is_made_by_an_array(login):
    tuned = login.finished(login.tune("--array", "2%1", "--slice", "30s", "--max-runs", "8"))
    assert "jobs submitted as array" in login.said
    assert tuned["runs"] == len(login.trials())
    assert "failed" not in {trial["outcome"] for trial in login.trials()}
    assert len(login.jobs()) >= 3  # observation job, array, follow-up job


@pytest.mark.sweep
def test_a_cancelled_tune_goes_on_where_it_was(login):
    session = login.tune("--max-runs", "12")
    login.await_that(lambda: len(login.trials()) >= 4)
    (job,) = login.jobs()
    host = login.stand_in.host()
    batch_scheduler(login.stand_in.name).cancel(host, [job])
    session.communicate(timeout=PATIENCE_S)
    assert session.returncode == 130, login.said
    assert "was cancelled; its measurements are kept" in login.said
    before = login.trials()
    tuned = login.finished(login.tune("--max-runs", "12", "--resume"))
    assert login.trials()[: len(before)] == before
    assert tuned["runs"] == len(login.trials())


@pytest.mark.sweep
def test_a_tune_outlives_its_login_session_and_a_host(login):
    session = login.tune("--max-runs", "12")
    login.await_that(lambda: len(login.trials()) >= 4)
    os.killpg(session.pid, signal.SIGKILL)
    session.communicate()
    before = login.trials()
    login.stand_in.set(down=[socket.gethostname()])
    time.sleep(0.5)
    login.stand_in.set(down=[])
    tuned = login.finished(login.tune("--max-runs", "12", "--resume"))
    assert login.trials()[: len(before)] == before
    assert tuned["runs"] == len(login.trials())


@pytest.mark.sweep
def test_each_type_of_node_is_examined_in_a_job(login):
    command = ("fabric", "--submit", "--json", "--rounds", "1", "--limit", "5s", "--ranks-per-node", "2")
    (examined,) = login.finished(login.start(*command, "--", "mpiexec", "-n", "2", login.program))[
        "node_types"
    ]
    assert examined["nodes"] == 1
    assert examined["answer"]["pairs"]


@pytest.mark.sweep
def test_a_sweep_is_made_by_an_array(login):
    out = login.place / "swept"
    options = ("--json", "--collectives", "barrier,bcast", "--sizes", "8", "--seconds", "0.002")
    session = login.start(
        "sweep", "--submit", "--array", "2", "--out", str(out), *options, "--", "mpiexec", "-n", "2"
    )
    swept = login.finished(session)
    assert {key["collective"] for key in swept["keys"]} == {"barrier", "bcast"}
    assert len(list(out.glob("rounds/1/*/sweep.jsonl"))) == 2
