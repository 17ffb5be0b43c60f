"""Fake Slurm that plays the jobs in this process, one whenever a caller asks for the states of jobs."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.recorded.world import World

from mpiric.host.host import Completed
from mpiric.model.errors import ExitCode

_OPTION = re.compile(r"--([a-z-]+)=(.*)", re.DOTALL)


@dataclass
class Job:
    """A job, or an element of an array."""

    script: Path
    round_number: str
    element: str  # number of the element, "" for a job without an array
    mark: str
    state: str = "PENDING"


@dataclass
class Slurm:
    """Queue of one world; ``lost`` are jobs whose node fails before they begin."""

    world: World
    lost: Sequence[str] = ()
    jobs: dict[str, Job] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)  # id as sbatch prints it → mark

    def sbatch(self, argv: Sequence[str], *, environment: Mapping[str, str | None], **_: Any) -> Completed:
        """Queue a job or an array."""
        options = dict(match.groups() for word in argv if (match := _OPTION.match(word)))
        name = str(len(self.marks) + 1)
        self.marks[name] = options.get("comment", "")
        elements = re.match(r"0-(\d+)", options.get("array", ""))
        for element in range(int(elements[1]) + 1) if elements else [""]:
            job = Job(Path(argv[-1]), str(environment["MPIRIC_ROUND"]), str(element), self.marks[name])
            self.jobs[f"{name}_{element}" if elements else name] = job
        return Completed(0, f"{name}\n", "")

    def squeue(self, argv: Sequence[str], **_: Any) -> Completed:
        """Play the next pending job of the requested ones, and print the states of all of them."""
        options = dict(match.groups() for word in argv if (match := _OPTION.match(word)))
        if "jobs" not in options:
            return Completed(0, "".join(f"{name}|{mark}\n" for name, mark in self.marks.items()), "")
        names = [name for name in options["jobs"].split(",") if name in self.jobs]
        pending = [name for name in names if self.jobs[name].state == "PENDING"]
        if pending:
            self._play(pending[0])
        return Completed(0, "".join(f"{name}|{self.jobs[name].state}|None|n1\n" for name in names), "")

    def scontrol(self, argv: Sequence[str], **_: Any) -> Completed:
        """Print details of a job."""
        job = self.jobs.get(argv[-1])
        if job is None:
            return Completed(0, "MaxArraySize = 1001\n", "")
        return Completed(0, f"JobId=1 JobState={job.state} Restarts=0 ExitCode=0:0 NodeList=n1\n", "")

    def scancel(self, argv: Sequence[str], **_: Any) -> Completed:
        """Remove jobs from the queue."""
        for name in argv[1:]:
            if name in self.jobs and self.jobs[name].state == "PENDING":
                self.jobs[name].state = "CANCELLED"
        return Completed(0, "", "")

    def _play(self, name: str) -> None:
        """Run the command of a submitted script in this process."""
        job = self.jobs[name]
        job.state = "RUNNING"
        if name in self.lost:
            job.state = "NODE_FAIL"
            return
        line = next(line for line in job.script.read_text().splitlines() if "/mpiric/__main__.py" in line)
        argv = shlex.split(line.partition(" < ")[0].replace('"$MPIRIC_ROUND"', job.round_number))
        entrance = next(at for at, word in enumerate(argv) if word.endswith("/mpiric/__main__.py"))
        array, _, index = name.partition("_")
        environment = {
            "MPIRIC_ROUND": job.round_number,
            "MPIRIC_ELEMENT": job.element,
            "MPIRIC_SUBMISSION": f"{job.script.parent.name}-{name}",
            "SLURM_JOB_ID": array,
            **({"SLURM_ARRAY_JOB_ID": array, "SLURM_ARRAY_TASK_ID": index} if index else {}),
        }
        with pytest.MonkeyPatch.context() as patch:
            for variable, value in environment.items():
                patch.setenv(variable, value)
            answer = self.world.mpiric(*argv[entrance + 1 :])
        with (job.script.parent / "job.log").open("a") as log:
            log.write(answer.stderr)
        job.state = "COMPLETED" if answer.status in (0, ExitCode.CONTINUES) else "FAILED"
        if answer.status == ExitCode.CONTINUES or (answer.status and job.element):
            return
        (job.script.parent / "job.out").write_text(answer.stdout)
        (job.script.parent / "job.status").write_text(f"{answer.status}\n")


def with_slurm(*lost: str) -> Any:
    """Return an action that adds the fake Slurm to a world."""

    def act(world: World) -> None:
        slurm = Slurm(world, lost)
        for command in ("sbatch", "squeue", "scontrol", "scancel"):
            world.answers[command] = getattr(slurm, command)

    return act
