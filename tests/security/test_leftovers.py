"""Removal of leftovers outside of mpiric's own directories."""

import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from tests.conftest import is_here
from tests.support.users import USERS

from mpiric.cli._verbs import mpiric
from mpiric.model.errors import MpiricError
from mpiric.workflows.sweep.log import forget

pytestmark = pytest.mark.requires(*USERS)

SYSTEM = Path(__file__).parents[1] / "system"
PROGRAMS = (SYSTEM / "runtime_programs/ring.c", SYSTEM / "programs/steps.c")

# A launch that fails, while an unrelated process writes files to shared memory and goes.
LAUNCH = """
import os, subprocess, sys
from pathlib import Path
from mpiric.host.processes.leftovers import Leftovers
segment = f"sm_segment.{os.uname().nodename}.{os.getuid()}.9b300001.0"
shared = Path("/dev/shm")
(shared / "mpich_shm_0_0").touch()
leftovers = Leftovers({})
foreign = segment.replace(os.uname().nodename, "n2")
for name in ("results.npy", "sem.lock", "mpich_shm_my_data", segment, foreign):
    (shared / name).touch()
for number in range(3):
    (shared / f"mpich_shm_3e1ee5ae_{number}").touch()
held = (shared / "mpich_shm_3e1ee5ae_1").open()
of_launch = (shared / "mpich_shm_3e1ee5ae_0").open()
leftovers.note([os.getpid()])
of_launch.close()
for name in ("hydra_hwloc_xmlfile_U4KKlu", "hydra_hwloc_xmlfile_U4KKlu.mine", "hydra_hwloc_xmlfile"):
    (Path("/tmp") / name).touch()
leftovers.remove(set())
"""


def test_only_segments_of_the_launch_that_nobody_uses_are_removed(people):
    people.owner.python(LAUNCH)
    names = people.machine.names()
    remaining = {Path(name).name for name in names}
    assert {
        "results.npy",
        "sem.lock",
        "mpich_shm_my_data",
        "mpich_shm_0_0",
        "mpich_shm_3e1ee5ae_1",
        "mpich_shm_3e1ee5ae_2",
    } <= remaining
    assert {"hydra_hwloc_xmlfile_U4KKlu.mine", "hydra_hwloc_xmlfile"} <= remaining
    assert sum(name.startswith("sm_segment.") for name in remaining) == 2
    assert not {"mpich_shm_3e1ee5ae_0", "hydra_hwloc_xmlfile_U4KKlu"} & remaining


def test_files_of_another_user_stay(people):
    script = """
import sys
from pathlib import Path
from mpiric.host.processes.leftovers import Leftovers
leftovers = Leftovers({})
print("ready", flush=True)
sys.stdin.readline()
leftovers.remove(set())
"""
    process = subprocess.Popen(
        people.owner.words(sys.executable, "-c", script),
        env=people.owner.environment, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    people.other.run("touch", "/dev/shm/mpich_shm_1_0", "/tmp/hydra_hwloc_xmlfile_abcdef", check=True)
    process.communicate("\n", timeout=60)
    assert people.machine.names() == {"/dev/shm/mpich_shm_1_0", "/tmp/hydra_hwloc_xmlfile_abcdef"}


RECORDS = ("report.html", "report.json", "rank-0.data.part", "record.mpiric", "merging.notes")


@pytest.mark.parametrize("name", RECORDS)
def test_a_profile_leaves_files_of_the_user_alone(people, name):
    directory = people.owner.home / "results"
    directory.mkdir()
    path = directory / name
    path.write_text("<!doctype html>\n<title>of mine</title>\n")
    for entry in (directory, path):
        shutil.chown(entry, people.owner.uid, people.owner.gid)
    script = """
import sys
from pathlib import Path
from mpiric.model.errors import MpiricError
from mpiric.workflows.profile.request import lock_emptied
try:
    lock_emptied(Path(sys.argv[1]))
except MpiricError as error:
    print(error.hint)
"""
    done = people.owner.python(script, directory)
    assert "-o" in done.stdout
    assert [entry.name for entry in directory.iterdir()] == [name]
    assert "of mine" in path.read_text()


@pytest.mark.parametrize("name", ["sweep.jsonl", "rounds/1/plan.json", "rounds/of_golf.txt"])
def test_a_sweep_removes_its_own_files_only(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("of mine\n")
    if "plan" in name:
        forget(tmp_path)
        assert not path.exists()
        return
    with pytest.raises(MpiricError, match="no sweep of yours wrote it"):
        forget(tmp_path)
    assert path.read_text() == "of mine\n"


# Faster with the setting that `tune --only malloc` tries, so that there is a recipe.
WAITS = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) {
    double one = 1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (!getenv("MALLOC_MMAP_MAX_"))
        usleep(1000000);
    printf("sum %g\\n", sum);
    return MPI_Finalize();
}
"""

HELLO = '#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n'
FORTRAN = 'program hello\n  print *, "hello"\nend program\n'

# The last word is a file in the home; behind "--" two ranks start it, and "" is the launch line alone.
# These start no MPI program.
PLAIN_VERBS = (
    ("machine",),
    ("mpi", "list"),
    ("ps",),
    ("place", "--ranks", "2"),
    ("completion", "bash"),
    ("script", "--ranks", "2", "--node", "1x2x1", "--", "./hello"),
    ("cc", "--targets", "v3", "-o", "fat", "hello.c"),
    ("cxx", "-o", "fat-cxx", "hello.cpp"),
    ("fc", "-o", "fat-fc", "hello.f90"),
    ("inspect", "fat"),
    ("extract", "--target", "v3", "-o", "plain", "fat"),
    ("build", "--try-compilers", "--run", "./hello", "--repeats", "1", "--", "make"),
    ("history", "--store", "store"),
    ("env", "--ranks", "2"),
    ("nodes", "--history"),
)
TUNE = ("tune", "--store", "store", "--try-all", "--only")
SHORT_VERBS = (
    ("run", "--no-recipe", "--", "ring"),
    ("profile", "-o", "record", "--", "ring"),
    ("report", "record"),
    ("map", "record"),
    ("doctor", "--", "ring"),
    ("scale", "--ranks", "2", "--budget", "6s", "--store", "store", "--", "ring"),
    (*TUNE, "binding", "--max-runs", "3", "--", "ring"),
    ("pack", "--format", "tar", "-o", "ring.pack", "--no-recipe", "--", "ring"),
)
SLOWER = 125
# A number of runs limits each tune: in a time alone, a busy machine makes too few for a recipe.
LONG_VERBS = (
    (
        *TUNE,
        "malloc",
        "--confidence",
        "0.9",
        "--max-runs",
        "40",
        "--budget",
        "15m",
        "-o",
        "waits.toml",
        "--",
        "waits",
    ),
    ("run", "--recipe", "waits.toml", "--", "waits"),
    ("history", "--against", "waits.toml", "--", "waits"),
    (*TUNE, "binding", "--max-runs", "9", "--budget", "60s", "--", "steps"),
    ("fabric", "--rounds", "1", "--limit", "10s", "--", "ring"),
    ("sweep", "--collectives", "bcast", "--sizes", "8,64", "--budget", "2s", "-o", "swept", "--", ""),
    ("verify", "--cpu", "max", "--timeout", "300", "ring"),
)


def temporary_names(people, directory):
    """Names in /tmp, /dev/shm and the user's own temporary directory."""
    return people.machine.names() | {str(path) for path in directory.rglob("*")}


def check_names_after(people, verbs, environment, launch=(), is_own_directory=False):
    """Run verbs one after the other; each must succeed and leave the temporary directories as they were."""
    owner = people.owner
    directory = owner.home / "temporary"
    owner.run("mkdir", "-p", directory, check=True)
    if is_own_directory:
        environment = {**environment, "TMPDIR": str(directory)}
    before = temporary_names(people, directory)
    for *verb, last in verbs:
        arguments = [last]
        if launch and verb[0] == "verify":
            arguments = ["--mpi", people.mpi.label, owner.home / last]
        elif launch and verb[-1:] == ["--"]:
            arguments = [*launch, *([owner.home / last] if last else [])]
        done = owner.mpiric(*verb, *arguments, env=environment, timeout=1200)
        good = {0, SLOWER} if "--against" in verb else {0}  # the machine may have become slower
        assert done.returncode in good, (verb, done.stderr)
        assert temporary_names(people, directory) == before, verb


def check_names_with_mpi(people, mpi, verbs, *, is_own_directory):
    """Check the names left by verbs that start programs with this MPI library."""
    owner = people.owner
    (owner.home / "waits.c").write_text(WAITS)
    for source in (*PROGRAMS, owner.home / "waits.c"):
        program = owner.home / source.stem
        owner.run(mpi.compilers["c"], "-o", program, source, check=True, env=mpi.environment)
    people.mpi = mpi
    paths = {"PATH": ":".join((*mpi.search_path, owner.environment["PATH"]))}
    launch = (mpi.launcher, "-n", "2")
    check_names_after(people, verbs, {**mpi.environment, **paths}, launch, is_own_directory)


def test_every_verb_is_looked_at():
    tested = {verb[0] for verb in (*PLAIN_VERBS, *SHORT_VERBS, *LONG_VERBS)}
    assert tested == set(mpiric.list_commands(click.Context(mpiric)))


PLACES = [False, pytest.param(True, marks=pytest.mark.sweep)]
each_place = pytest.mark.parametrize("is_own_directory", PLACES, ids=["tmp", "TMPDIR"])


@pytest.mark.requires("gcc")
@pytest.mark.parametrize("is_own_directory", [False, True], ids=["tmp", "TMPDIR"])
def test_no_verb_that_starts_no_mpi_leaves_a_name_behind(people, is_own_directory):
    home = people.owner.home
    files = {"hello.c": HELLO, "hello.cpp": HELLO, "hello.f90": FORTRAN}
    files["Makefile"] = "hello: hello.c\n\t$(CC) -o $@ $<\n"
    for name, text in files.items():
        (home / name).write_text(text)
    needs = {"fc": "gfortran", "cxx": "g++", "build": "make"}
    verbs = [verb for verb in PLAIN_VERBS if is_here(needs.get(verb[0], "gcc"))]
    check_names_after(people, verbs, {}, is_own_directory=is_own_directory)


@pytest.mark.newest_only
@pytest.mark.timeout(900)
@each_place
def test_no_verb_leaves_a_name_behind(people, mpi, is_own_directory):
    check_names_with_mpi(people, mpi, SHORT_VERBS, is_own_directory=is_own_directory)


@pytest.mark.sweep
@pytest.mark.timeout(3600)
@each_place
def test_no_long_verb_leaves_a_name_behind(people, mpi, is_own_directory):
    check_names_with_mpi(people, mpi, LONG_VERBS, is_own_directory=is_own_directory)
