"""The number of nodes on which a launch line puts ranks."""

from pathlib import Path

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.launchers import parse_command
from mpiric.workflows.launch.nodes import node_count, with_host_files


def nodes(line: str, dialect: str, directory: Path) -> int:
    job = parse_command(
        line.split(), str(directory), {}, is_program=lambda word: word == "app", dialect=dialect
    )
    return node_count(with_host_files(job, LocalHost()), LocalHost())


@pytest.mark.parametrize(
    ("line", "dialect", "count"),
    [
        ("mpirun -n 4 app", "openmpi5", 1),
        ("mpirun --host n1:2,n2:2 app", "openmpi5", 2),
        ("mpirun --host n1:2,n2:2 -n 2 app", "openmpi5", 1),
        ("mpirun --host n1,n2,n3 -n 2 app", "openmpi5", 2),
        ("mpiexec -hosts n1,n2 -ppn 1 -n 2 app", "hydra", 2),
        ("mpiexec -hosts n1,n2,n3,n4 -ppn 2 -n 4 app", "hydra", 2),
        ("mpiexec -hosts n1,n2 -n 8 app", "hydra", 2),
        ("mpiexec -hosts n1 -n 8 app", "hydra", 1),
        ("srun -N 3 -n 12 app", "srun", 3),
        ("srun -w n[1-3,7] -n 12 app", "srun", 4),
        ("srun -w n[1-3,7] -n 2 app", "srun", 2),
    ],
)
def test_hosts_and_slots_are_counted(line, dialect, count, tmp_path):
    assert nodes(line, dialect, tmp_path) == count


def test_a_hostfile_is_read(tmp_path):
    (tmp_path / "hosts").write_text("# ours\nn1 slots=2\nn2 slots=2\nn3 slots=2\n")
    assert nodes("mpirun --hostfile hosts -n 4 app", "openmpi5", tmp_path) == 2
    assert nodes("mpirun --hostfile hosts -n 5 app", "openmpi5", tmp_path) == 3


class InJob(LocalHost):
    """Host inside a job of a scheduler."""

    def __init__(self, environment: dict[str, str], files: dict[str, str]) -> None:
        super().__init__()
        self.variables, self.files = environment, files

    @property
    def environ(self) -> dict[str, str]:
        return self.variables

    def read_text(self, path: str) -> str | None:
        return self.files.get(path)


PBS = ({"PBS_JOBID": "7.server", "PBS_NODEFILE": "/nodes"}, {"/nodes": "a1\na1\nb1\nb1\nb1\n"})
LSF = ({"LSB_JOBID": "9", "LSB_MCPU_HOSTS": "a1 2 b1 3"}, {})


@pytest.mark.parametrize(("environment", "files"), [PBS, LSF], ids=["PBS", "LSF"])
def test_hosts_and_slots_of_a_job_are_filled_in_order(environment, files):
    host = InJob(environment, files)

    def count(line: str) -> int:
        return node_count(parse_command(line.split(), "/work", {}, dialect="hydra"), host)

    assert [count(f"mpiexec -n {ranks} ./a") for ranks in (1, 2, 3, 5)] == [1, 1, 2, 2]
    assert count("mpiexec -hosts c1 -n 4 ./a") == 1  # the command line has the say
