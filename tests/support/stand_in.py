"""Fake schedulers: commands that behave as the manuals describe and share one queue of files."""

import json
import os
import sys
from pathlib import Path

from mpiric.host.facts.local import LocalHost

COMMANDS = {
    "slurm": ("sbatch", "squeue", "scontrol", "scancel", "sinfo", "srun"),
    "pbs": ("qsub", "qstat", "qselect", "qdel", "qrerun", "pbsnodes"),
    "lsf": ("bsub", "bjobs", "bkill", "brequeue", "bparams", "bhosts", "bqueues", "lshosts"),
    "flux": ("flux",),
}
STATE = "MPIRIC_STAND_IN"  # directory of the queue, in the environment of the commands


class StandIn:
    """Made-up cluster; its commands come first on PATH."""

    def __init__(self, name, place, hosts=("n1", "n2", "n3")):
        self.name, self.state = name, place / "queue"
        commands = place / "bin"
        commands.mkdir(parents=True)
        self.state.mkdir()
        self.set(hosts=list(hosts), down=[], limit_s=60.0, array_limit=6, owner=os.getpid())
        for command in COMMANDS[name]:
            file = commands / command
            file.write_text(
                f'#!/bin/sh\nexec {sys.executable} -S -m tests.support.stand_ins.{name} {command} "$@"\n'
            )
            file.chmod(0o755)
        root = str(Path(__file__).parents[2])
        self.environment = {
            STATE: str(self.state),
            "PATH": f"{commands}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), root]),
        }

    def set(self, **settings):
        """Change settings of the cluster: hosts, failed hosts, time limit of jobs, largest array."""
        path = self.state / "settings.json"
        previous = json.loads(path.read_text()) if path.exists() else {}
        new = path.with_suffix(".new")
        new.write_text(json.dumps({**previous, **settings}))
        new.replace(path)

    def host(self, **variables):
        """Return a login node, or a job with its variables."""
        return StandInHost({**os.environ, **self.environment, **variables})


class StandInHost(LocalHost):
    """This machine with another environment."""

    def __init__(self, environment):
        self._environment = environment

    @property
    def environ(self):
        return self._environment

    def run(self, argv, *, environment=None, **more):
        return super().run(argv, environment={**self._environment, **(environment or {})}, **more)

    def which(self, name, **_):
        """Return the path of a command; real schedulers of the machine are hidden."""
        command = f"{self._environment['PATH'].partition(':')[0]}/{name}"
        if any(name in commands for commands in COMMANDS.values()):
            return command if os.access(command, os.X_OK) else None
        for directory in self._environment["PATH"].split(":"):
            if os.access(f"{directory}/{name}", os.X_OK):
                return f"{directory}/{name}"
        return None
