"""Programs that open their MPI library, or what needs one, by themselves."""

import subprocess

import pytest
from tests.support.oversubscription import yielding
from tests.support.preloaded import NATIVE, OVERSUBSCRIBE, calls

from mpiric.profile.read import read_record

EXCHANGE = """
import sys
from mpi4py import MPI
world = MPI.COMM_WORLD
got = [world.sendrecv(world.rank, dest=1 - world.rank, source=1 - world.rank) for _ in range(10)]
sys.stdout.write(f"got {sum(got)}\\n")  # a line in one piece, whatever buffers
"""


@pytest.mark.requires("python:mpi4py")
@pytest.mark.parametrize("named", [False, True], ids=["looks", "is-told"])
@pytest.mark.parametrize(
    "family", [pytest.param(f, marks=pytest.mark.requires(f"mpi:{f}")) for f in OVERSUBSCRIBE]
)
def test_python_finds_its_library_and_every_message_is_seen(
    family, named, mpi_prefix, program_python, environment, tmp_path
):
    """Python asks the process for MPI first, then opens a library; to functions of MPI 4 it refers weakly."""
    prefix = mpi_prefix(family)
    ranks = {
        "LD_PRELOAD": yielding(NATIVE / family / "libmpiric.so"),
        "MPIRIC_RECORD_DIR": tmp_path / "record",
        "MPIRIC_MERGE": "tree",
        **({"MPI4PY_MPIABI": family} if named else {}),
    }
    command = [
        "env",
        *(f"{name}={value}" for name, value in ranks.items()),
        program_python("mpi4py"),
        "-c",
        EXCHANGE,
    ]
    done = subprocess.run(
        [prefix / "bin/mpiexec", *OVERSUBSCRIBE[family], "-n", "2", *command],
        env={**environment, "LD_LIBRARY_PATH": str(prefix / "lib")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["0", "10", "got", "got"]
    record = read_record(tmp_path / "record")
    sends = zip(calls(record, "MPI_Isend"), calls(record, "MPI_Isend_c"), strict=True)
    assert [sum(both) for both in sends] == [10, 10]
    sent = {(rank.rank, p.world_rank): p.messages for rank in record.ranks for p in rank.peers}
    assert sent == {(0, 1): 10, (1, 0): 10}


PLUGINS = {
    "plugin.c": "int MPI_Status_get_source(void); int use(void) { return MPI_Status_get_source(); }\n",
    "opens.c": """#include <dlfcn.h>
#include <stdio.h>
int main(void) {
    printf("%s\\n", dlsym(RTLD_DEFAULT, "MPI_Send") ? "there" : "absent");
    puts(dlopen("libplugin.so", RTLD_LAZY) ? "opened" : dlerror());
    return 0;
}
""",
}


@pytest.mark.requires("gcc")
def test_what_a_program_opens_is_sought_where_the_program_says(environment, tmp_path):
    """Call sites in an executable count for files it opens itself, not for files the runtime would open."""
    for name, source in PLUGINS.items():
        (tmp_path / name).write_text(source)
    (tmp_path / "own").mkdir()
    for arguments in (
        ["-shared", "-fPIC", "plugin.c", "-o", "own/libplugin.so"],
        ["opens.c", "-o", "opens", "-Wl,-rpath,$ORIGIN/own", "-ldl"],
    ):
        subprocess.run(["gcc", *arguments], cwd=tmp_path, check=True, timeout=120)
    settings = {
        "LD_PRELOAD": str(NATIVE / "mpich/libmpiric.so"),
        "MPIRIC_RECORD_DIR": str(tmp_path / "record"),
    }
    done = subprocess.run(
        [tmp_path / "opens"], env={**environment, **settings}, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout.split()) == (0, ["absent", "opened"])
