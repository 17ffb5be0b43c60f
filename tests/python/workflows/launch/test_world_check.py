"""Ranks that each run alone, as rank 0 of 1, are noticed with the launch line that joins them."""

from types import SimpleNamespace

import pytest

from mpiric.host.host import Completed
from mpiric.launchers import parse_command
from mpiric.model.errors import MismatchError
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.workflows.launch import findings

OPENMPI = MpiLibrary(
    "openmpi", "5.0.3", (AbiFamily.OPENMPI,), "/o", "/o/lib/libmpi.so.40", "libmpi.so.40", "/o/bin/mpirun",
    "openmpi5", "path",
)  # fmt: skip
MPICH = MpiLibrary(
    "mpich", "4.2.1", (AbiFamily.MPICH,), "/m", "/m/lib/libmpi.so.12", "libmpi.so.12", "/m/bin/mpiexec",
    "hydra", "path",
)  # fmt: skip


class Host:
    """Host whose srun lists these process managers."""

    def __init__(self, *managers: str) -> None:
        self.managers = managers

    def run(self, _argv, **_options) -> Completed:
        return Completed(
            0, "", "MPI plugin types are...\n" + "".join(f"\t{name}\n" for name in self.managers)
        )


@pytest.fixture(autouse=True)
def libraries(monkeypatch):
    launchers = {"mpirun": OPENMPI, "mpiexec": MPICH}
    monkeypatch.setattr(findings.mpis, "find_mpis", lambda _host: (OPENMPI, MPICH))
    monkeypatch.setattr(findings.mpis, "mpi_of_launcher", lambda _host, word: launchers.get(word))


def record(world_size=1, version="Open MPI v5.0.3, package: x"):
    return SimpleNamespace(world_size=world_size, ranks=(SimpleNamespace(facts={"mpi.version": version}),))


def found(line, dialect, host=None, **facts):
    job = parse_command(line.split(), "/work", {}, dialect=dialect)
    return findings.ranks_alone(job, record(**facts), host or Host())


@pytest.mark.parametrize(
    ("line", "dialect", "world_size"),
    [
        ("mpirun -np 2 ./a", "openmpi5", 2),
        ("mpirun -np 1 ./a", "openmpi5", 1),
        ("mpirun ./a", "openmpi5", 1),
        ("./a", "direct", 1),
    ],
)
def test_other_worlds_are_no_error(line, dialect, world_size):
    assert found(line, dialect, world_size=world_size) is None


def test_a_launcher_of_another_library_is_named_with_the_right_one():
    advice = found("mpiexec -n 2 -genv A 1 ./a", "hydra")
    assert "mpiexec belongs to another MPI library than openmpi-5.0.3" in advice.finding.says
    assert advice.commands == ("/o/bin/mpirun -np 2 -x A=1 ./a",)


@pytest.mark.parametrize(
    ("version", "managers", "commands"),
    [
        ("Open MPI v5.0.3", ("none", "pmi2", "pmix"), ("srun --mpi=pmix -n 2 ./a",)),
        ("MPICH Version: 4.2.1", ("none", "pmi2", "pmix"), ("srun --mpi=pmi2 -n 2 ./a",)),
        ("Open MPI v5.0.3", ("none", "pmi2"), ()),
    ],
)
def test_the_plug_in_of_slurm_is_one_that_both_sides_have(version, managers, commands):
    assert found("srun -n 2 ./a", "srun", Host(*managers), version=version).commands == commands


def test_the_right_launcher_alone_points_to_what_stands_behind_it():
    advice = found("mpirun -np 2 env -i ./a", "openmpi5")
    assert "do not reach the ranks" in advice.finding.says


def test_a_tune_is_refused():
    job = parse_command(["mpiexec", "-n", "2", "./a"], "/work", {}, dialect="hydra")
    with pytest.raises(MismatchError, match="runs alone"):
        findings.refuse_ranks_alone(job, record(), Host())


OTHER_FAMILY = (
    "mpiric: nothing is recorded, tuned or reordered: this is the runtime for another family of MPI "
    "libraries than: Open MPI v5.0.3, package: x\n"
)


def test_ranks_that_load_another_library_than_their_launcher_run_alone():
    job = parse_command("mpiexec -n 2 python3 a.py".split(), "/work", {}, dialect="hydra")
    advice = findings.ranks_of_other_family(job, OTHER_FAMILY, Host())
    assert "mpiexec belongs to another MPI library than openmpi-5.0.3" in advice.finding.says
    assert advice.finding.evidence == "the ranks load Open MPI v5.0.3"
    assert advice.commands == ("/o/bin/mpirun -np 2 python3 a.py",)


@pytest.mark.parametrize(
    ("line", "dialect", "output"),
    [
        ("mpiexec -n 2 python3 a.py", "hydra", "the output of the program"),
        ("mpirun -np 2 python3 a.py", "openmpi5", OTHER_FAMILY),  # only --abi was wrong
        ("mpiexec -n 1 python3 a.py", "hydra", OTHER_FAMILY),
        ("srun -n 2 python3 a.py", "srun", OTHER_FAMILY),
    ],
)
def test_other_launches_do_not_load_another_library(line, dialect, output):
    job = parse_command(line.split(), "/work", {}, dialect=dialect)
    assert findings.ranks_of_other_family(job, output, Host()) is None
