"""Dry load checks of a launch."""

import pytest
from tests.support.replay_host import Recording, ReplayHost, command_key

from mpiric.host.host import Completed, Elf
from mpiric.launchers import parse_command
from mpiric.model.job import Launch
from mpiric.workflows.tune.save_recipe import missing_libraries

LISTED = """\
\tlibmpi_usempif08.so.40 => not found
\tlibmpi.so.40 => /opt/openmpi5/lib/libmpi.so.40 (0x00007f0000000000)
\tlibmpi_usempif08.so.40 => not found
"""
TRACED = ("mpirun", "-n", "2", "env", "LD_TRACE_LOADED_OBJECTS=1", "./app")
CHANGED = {"LD_LIBRARY_PATH": "/opt/openmpi5/lib", "OMPI_MCA_pml": None}


def missing(command: str, output: str = LISTED) -> tuple[str, ...]:
    host = ReplayHost(
        Recording(
            elfs={"/home/u/./app": Elf("", ("libmpi.so.40",), (), "/lib64/ld-linux-x86-64.so.2")},
            commands={command_key(TRACED, CHANGED): Completed(0, output, "")},
        )
    )
    job = parse_command(command.split(), "/home/u", {})
    launch = Launch(
        tuple(command.split()), "/home/u", {"LD_LIBRARY_PATH": "/opt/openmpi5/lib"}, ("OMPI_MCA_pml",)
    )
    return missing_libraries(launch, job, host)


def test_libraries_that_ranks_do_not_find_are_named_once():
    assert missing("mpirun -n 2 ./app -in input") == ("libmpi_usempif08.so.40",)


def test_ranks_that_find_all_libraries_pass():
    assert missing("mpirun -n 2 ./app", LISTED.splitlines()[1]) == ()


@pytest.mark.parametrize(
    "command",
    [
        "./app",
        "mpirun -n 1 ./app : -n 1 ./app",
        "mpirun -n 2 apptainer exec image.sif ./app",
        "srun -n 2 ./app",
    ],
)
def test_nothing_is_checked_without_a_launcher_of_one_program(command):
    assert missing(command) == ()
