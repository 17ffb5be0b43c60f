"""Signals that a batch system sends before a job's end: a trial gets them, and they do not end mpiric."""

import os
import signal
import sys
import threading
import time

import pytest

from mpiric.host.processes.execution import Runner, Workspace
from mpiric.model.job import Launch
from mpiric.model.run import Outcome

_PROGRAM = """
import signal, sys, time
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(int(sys.argv[1])))
open("ready", "w").close()
time.sleep(60)
"""


def run_signalled(tmp_path, status: int):
    """Run a program that ends with a status at SIGUSR1, which this process is sent."""

    def send() -> None:
        while not (tmp_path / "ready").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGUSR1)

    threading.Thread(target=send, daemon=True).start()
    launch = Launch((sys.executable, "-c", _PROGRAM, str(status)), str(tmp_path))
    with Runner() as runner:
        return runner.execute(launch, os.environ, Workspace(tmp_path, tmp_path / "out", tmp_path / "err"), 60)


@pytest.mark.parametrize(("status", "outcome"), [(0, Outcome.OK), (7, Outcome.INTERRUPTED)])
def test_a_trial_gets_the_signal_and_no_setting_is_blamed(tmp_path, status, outcome):
    assert run_signalled(tmp_path, status).outcome is outcome


def test_between_two_trials_the_signal_is_dropped():
    with Runner():
        os.kill(os.getpid(), signal.SIGUSR2)
    assert signal.getsignal(signal.SIGUSR2) is signal.SIG_DFL
