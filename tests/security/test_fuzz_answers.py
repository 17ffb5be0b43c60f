"""Damaged files of the system, output of commands and environment variables."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.support.connections import transports_in
from tests.support.fuzzing import COUNTS, Format, files, fuzz, read_or_refused, texts
from tests.support.mutations import damage, damage_lines
from tests.support.replay_host import Recording, ReplayHost

from mpiric import launchers
from mpiric.fabric.probe import damaged, read_probe
from mpiric.host.host import Completed
from mpiric.launchers import dialects
from mpiric.launchers._hosts import read_host_file
from mpiric.machine import notice, read_machine
from mpiric.mpis import find_mpis
from mpiric.schedulers import schedulers

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests/data"
PRINTED = {
    "host file": Format(
        "hosts",
        texts(b"n1:4\nn2:2 # two\nuser@n3\n"),
        lambda p: [
            read_host_file(dialect.hosts, p.read_text(errors="replace"))
            for dialect in dialects().values()
            if dialect.hosts
        ],
    ),
    "output of fabric probes": Format(
        "out",
        texts(
            b'{"kind":"rank","host":"a"}\n{"kind":"pair","class":"other node","bytes":8,"latency_us":1.5,'
            b'"latency_us_min":1.0,"intact":true}\n{"kind":"copy","mb_s":100.0}\n'
            b'{"kind":"moved","class":"other node","payload":8,"devices":{"eth0":9},'
            b'"sockets":{},"shared":[]}\n'
        ),
        lambda p: (damaged(p.read_text(errors="replace")), read_probe(p.read_text(errors="replace"))),
        damage_lines,
    ),
    "output of libraries": Format(
        "out",
        files(*sorted((DATA / "fabric").glob("*.txt"))),
        lambda p: [
            transports_in(p.read_text(errors="replace"), name) for name in ("mpich", "openmpi", "intelmpi")
        ],
        share=0.2,
    ),
}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", PRINTED)
def test_damaged_output_is_read_or_refused(kind: str, count: int, tmp_path: Path) -> None:
    fuzz(PRINTED[kind], count, tmp_path)


LINES = (
    "mpirun --host n1:2,n2:2 -np 4 ./a",
    "srun -N2 --ntasks-per-node=4 -w n[1-2] ./a",
    "aprun -n 2 -L 1-4 ./a",
    "mpiexec -f hosts -ppn 2 ./a : -n 2 ./b",
    "OMP_NUM_THREADS=2 mpirun --map-by ppr:2:numa ./a",
)
MACHINE = DATA / "machines/debian12.json"


def damaged_recording(recording: Recording, chance: random.Random) -> Recording:
    """The machine with some files, or the output of some commands, damaged."""
    changed: dict[str, Mapping[str, object]] = {
        "files": dict(recording.files),
        "commands": dict(recording.commands),
    }
    for _ in range(chance.randint(1, 6)):
        name = chance.choice(["files", "files", "commands"])
        key = chance.choice(sorted(changed[name]))
        if name == "files":
            changed[name][key] = damage(recording.files[key].encode(), chance).decode(errors="replace")  # type: ignore[index]
        else:
            completed = recording.commands[key]
            printed = damage(completed.stdout.encode(), chance).decode(errors="replace")
            changed[name][key] = Completed(chance.choice([completed.status, 1]), printed, completed.stderr)  # type: ignore[index]
    return replace(recording, **changed)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", COUNTS)
def test_a_machine_whose_files_and_commands_say_anything_is_read(count: int, tmp_path: Path) -> None:
    recording = Recording.read(MACHINE)
    for seed in range(count):
        host = ReplayHost(damaged_recording(recording, random.Random(seed)))

        def read(host: ReplayHost = host) -> None:
            notice(read_machine(host, "/home/user/run"))
            find_mpis(host)

        read_or_refused(read, f"seed {seed}", str(seed).encode(), tmp_path / "seed")


ENVIRONMENTS = {
    "slurm": dict(
        line.split("=", 1)
        for line in (DATA / "schedulers/slurm-salloc.env").read_text().splitlines()
        if "=" in line
    ),
    "pbs": {"PBS_JOBID": "7.server", "PBS_NODEFILE": "/nodes", "NCPUS": "4", "PBS_QUEUE": "workq"},
    "lsf": {"LSB_JOBID": "9", "LSB_MCPU_HOSTS": "a1 2 b1 4", "LSB_QUEUE": "normal"},
    "flux": {"FLUX_URI": "local:///run/flux/local", "FLUX_ENCLOSING_ID": "f"},
    "local": {},
}
SAID = (
    b"a1\na1\nb1\n",
    b'{"version":1,"execution":{"R_lite":[{"rank":"0-1","children":{"core":"0-3"}}],"nodelist":["a1,b1"]}}',
    (DATA / "schedulers/slurm-job-running.txt").read_bytes(),
    (DATA / "schedulers/slurm-squeue.txt").read_bytes(),
)


@dataclass
class SaysAnything:
    """A host whose variables, files and commands are damaged."""

    environ: Mapping[str, str]
    chance: random.Random

    def read_text(self, _: str) -> str:
        return damage(self.chance.choice(SAID), self.chance).decode(errors="replace")

    def run(self, *_: object, **__: object) -> Completed:
        return Completed(0, self.read_text(""), "")


@pytest.mark.parametrize("name", schedulers())
@pytest.mark.parametrize("count", COUNTS)
def test_an_allocation_described_by_anything_is_read_or_refused(
    name: str, count: int, tmp_path: Path
) -> None:
    for seed in range(count):
        chance = random.Random(seed)
        environment = dict(ENVIRONMENTS[name])
        for key in chance.sample(sorted(environment), min(len(environment), 2)):
            environment[key] = (
                damage(environment[key].encode(), chance).replace(b"\0", b"").decode(errors="surrogateescape")
            )
        host = SaysAnything(environment, chance)
        read_or_refused(
            lambda host=host: schedulers()[name].recognise(host),
            f"seed {seed}",
            repr(environment).encode(),
            tmp_path / "kept",
        )


@pytest.mark.parametrize("count", COUNTS)
def test_any_launch_line_is_parsed_or_refused(count: int, tmp_path: Path) -> None:
    for seed in range(count):
        chance = random.Random(seed)
        line = (
            damage(chance.choice(LINES).encode(), chance).replace(b"\0", b"").decode(errors="surrogateescape")
        )
        read_or_refused(
            lambda line=line: launchers.parse_command(line.split(" "), str(tmp_path), {}),
            f"seed {seed}", line.encode(errors="surrogateescape"), tmp_path / "kept",
        )  # fmt: skip
