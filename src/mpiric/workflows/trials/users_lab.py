"""Lab of a verb that observes a command: runs are in the user's directory, and no output is kept."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from mpiric.host.files import exists
from mpiric.host.host import Host
from mpiric.host.processes.execution import Runner
from mpiric.lab.directory_runs import UsersDirectory
from mpiric.lab.judge import Judge
from mpiric.lab.lab import Lab
from mpiric.lab.probes import Probe
from mpiric.model.dataclass import dataclass
from mpiric.model.launch import Spelling
from mpiric.model.situation import Situation
from mpiric.model.trial import Trial
from mpiric.tuning.objective import Objective
from mpiric.tuning.store.store import Store
from mpiric.workflows.launch.node_leftovers import cleaned_nodes


@dataclass(frozen=True)
class PrintingRun(Probe):
    """A run whose output is read, with further variables and libraries for its ranks."""

    around: Spelling = field(default_factory=Spelling)
    keeps_output = True

    def spelling(self) -> Spelling:
        """Return the additional variables and libraries."""
        return self.around


@contextmanager
def users_lab(situation: Situation, host: Host) -> Iterator[Lab]:
    """Make the lab; leftovers of ended runs on the nodes are removed."""
    job = situation.job
    with (
        tempfile.TemporaryDirectory(prefix="mpiric-") as place,
        Store(Path(place)).create("runs", "runs", job.argv) as log,
        cleaned_nodes(job, situation.nodes, host) as after_ended_run,
        Runner() as runner,
    ):
        lab = Lab(runner, UsersDirectory(Path(job.working_directory)), log, Judge(Objective()))
        lab.situation, lab.after_ended_run = situation, after_ended_run
        yield lab


def printed(trial: Trial) -> str:
    """Return the output of a run, standard error first; "" for a run that was not started."""
    paths = [Path(path) for path in (trial.stderr, trial.stdout) if path]
    return "\n".join(path.read_text(errors="replace") for path in paths if exists(path))
