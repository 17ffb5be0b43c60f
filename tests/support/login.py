"""User who submits from a login node of the virtual cluster."""

import json
import subprocess
import sys
import time
from pathlib import Path

from tests.conftest import clean_environment
from tests.lab.enter import command_line
from tests.lab.programs import mpi_environment, ranks_program

MPIRIC = str(Path(sys.executable).parent / "mpiric")
SRUN = ("srun", "--nodes=4", "--ntasks=4", "--mpi=pmi2")
PATIENCE_S = 240


class Login:
    """User on n1, in a directory that all hosts share."""

    def __init__(self, lab, mpi_prefix, place):
        self.lab, self.place = lab, place
        self.store = place / "store"
        (place / "work").mkdir(parents=True)
        self.program = ranks_program("mpich", mpi_prefix, lab)
        environment = {**clean_environment(), "HOME": str(place), "PWD": str(place / "work")}
        self.environment = mpi_environment("mpich", mpi_prefix("mpich"), environment)

    def start(self, *arguments):
        """Start mpiric with these arguments, in a separate session."""
        inside = ["/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(self.place / "work"), MPIRIC]
        with (self.place / "stderr").open("a") as stderr:
            return subprocess.Popen(
                command_line(self.lab, "n1", [*inside, *arguments]),
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                start_new_session=True,
            )

    def tune(self, *arguments, srun=SRUN):
        """Start ``tune --submit`` of a program that ends at once, on several hosts."""
        options = [
            "--submit",
            "--json",
            "--store",
            str(self.store),
            "--budget",
            "5m",
            "--only",
            "malloc,pages",
        ]
        return self.start("tune", *options, *arguments, "--", *srun, str(self.program))

    @property
    def said(self):
        return (self.place / "stderr").read_text()

    @property
    def record(self):
        """Return the directory of the tune."""
        return next(iter(self.store.iterdir()))

    def events(self):
        files = self.store.glob("*/events.jsonl")
        return [
            json.loads(line)
            for file in files
            for line in file.read_text().splitlines(keepends=True)
            if line.endswith("\n")
        ]

    def trials(self):
        return [event for event in self.events() if event["event"] == "trial"]

    def await_trials(self, count):
        until = time.monotonic() + PATIENCE_S
        while len(self.trials()) < count:
            assert time.monotonic() < until, self.said
            time.sleep(0.1)

    def jobs(self):
        return (self.record / "jobs").read_text().split()
