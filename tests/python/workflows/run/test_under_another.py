"""Commands that are proposed for a program under another MPI library."""

from mpiric.workflows.run.run import with_mpi


def test_a_proposed_command_names_the_library_before_the_launch_line() -> None:
    command = "mpiric run --set binding=core -- mpirun -n 2 ./app -- more"
    under = "mpiric run --set binding=core --mpi mpich-5 -- mpirun -n 2 ./app -- more"
    assert with_mpi(command, "mpich-5") == under


def test_without_another_library_it_is_as_it_was() -> None:
    assert with_mpi("mpiric run -- ./app", "") == "mpiric run -- ./app"
