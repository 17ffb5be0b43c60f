"""A launcher that is not on PATH: the error names the matching launcher and a command line."""

import shlex
from pathlib import Path

import pytest
from tests.support.replay_host import Recording, ReplayHost

from mpiric.host.host import Elf
from mpiric.model.errors import NotFoundError
from mpiric.workflows.launch.parse_job import parse_job

DATA = Path(__file__).parents[3] / "data/machines"
WITHOUT_PATH = {"mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich"}


class WithoutPath(ReplayHost):
    """Finds no launcher on PATH."""

    def which(self, name: str, **_: object) -> str | None:
        return None if name in WITHOUT_PATH else super().which(name)


@pytest.fixture
def host() -> ReplayHost:
    """The recorded Debian with a program of each family in /u."""
    recording = Recording.read(DATA / "debian12.json")
    for name, soname in (("of-mpich", "libmpi.so.12"), ("of-openmpi", "libmpi.so.40")):
        recording.elfs[f"/u/{name}"] = Elf("", (soname,), (), "/lib64/ld-linux-x86-64.so.2")
        recording.is_executable[f"/u/{name}"] = True
    return WithoutPath(recording)


def refusal(host: ReplayHost, line: str) -> NotFoundError:
    with pytest.raises(NotFoundError) as raised:
        parse_job(shlex.split(line), host, "/u", {})
    return raised.value


@pytest.mark.parametrize(
    ("program", "label", "launcher"),
    [("of-mpich", "mpich-", "mpiexec"), ("of-openmpi", "openmpi-", "mpirun")],
)
def test_the_launcher_of_the_programs_family_is_named_with_the_line_to_type(host, program, label, launcher):
    error = refusal(host, f"mpirun -n 2 /u/{program} 'two words'")
    assert error.message == "the launcher 'mpirun' is not on PATH"
    named, _, line = error.hint.partition("; also here")[0].partition(": -- ")
    assert named.startswith(f"with {label}")
    argv = shlex.split(line)
    assert argv[0].startswith("/")
    assert launcher in argv[0]
    assert argv[1:] == ["-n", "2", f"/u/{program}", "two words"]


def test_words_before_the_launcher_stay(host):
    hint = refusal(host, "env A=1 mpirun -n 2 /u/of-mpich").hint
    assert ": -- env A=1 /" in hint


def test_a_missing_path_is_not_reported_as_missing_on_path(host):
    assert (
        refusal(host, "/gone/mpirun -n 2 /u/of-mpich").message == "the launcher '/gone/mpirun' is not there"
    )


def test_where_no_mpi_fits_the_one_to_install_is_named():
    error = refusal(ReplayHost(Recording()), "mpirun -n 2 ./a")
    assert "mpiric mpi install mpich" in error.hint
