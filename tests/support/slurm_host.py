"""Recorded output of Slurm 22.05 in the virtual cluster, and a host that prints it again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mpiric.host.host import Completed
from mpiric.schedulers import Patience

DATA = Path(__file__).parents[1] / "data/schedulers"
AWAY = Completed(1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n")
UNKNOWN = Completed(1, "", "slurm_load_jobs error: Invalid job id specified\n")


def text(name: str) -> str:
    return (DATA / name).read_text()


def environment(name: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text(name).splitlines())


class Time:
    """Virtual time that passes only during sleeps."""

    now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def patience() -> Patience:
    time = Time()
    return Patience(sleep=time.sleep, clock=lambda: time.now)


@dataclass
class SlurmHost:
    """Host that answers each command with the next item of its list, and then with the last one."""

    answers: Mapping[str, list[Completed]]
    commands: list[tuple[str, ...]] = field(default_factory=list)
    environ: Mapping[str, str] = field(default_factory=dict)

    def which(self, name: str, **_: object) -> str | None:
        return f"/usr/bin/{name}" if name == "sbatch" else None

    def read_text(self, path: str) -> None:
        return None

    def run(self, argv: Sequence[str], **_: object) -> Completed:
        self.commands.append(tuple(argv))
        answers = self.answers.get(argv[0])
        if not answers:
            return Completed(127, "", "not found")
        return answers.pop(0) if len(answers) > 1 else answers[0]
