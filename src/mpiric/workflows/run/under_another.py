"""A command as `mpiric run --mpi` starts it: launch line and environment of its own for another library."""

from collections.abc import Mapping, Sequence

from mpiric.host.host import Host
from mpiric.model.quoting import sh_word
from mpiric.workflows.run.collectives import RunRequest
from mpiric.workflows.run.run import prepare


def under_another(
    argv: Sequence[str], working_directory: str, environment: Mapping[str, str], label: str, host: Host
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return launch line and environment of a command under the MPI library ``label``."""
    request = RunRequest(tuple(argv), working_directory, environment, use_recipe=False, values={"mpi": label})
    launch = prepare(request, host).launch
    remaining = {name: value for name, value in environment.items() if name not in launch.unset}
    return tuple(launch.argv), {**remaining, **launch.environment}


def with_mpi(command: str, label: str) -> str:
    """Add ``--mpi`` to an mpiric command that contains a launch line."""
    options, separator, line = command.partition(" -- ")
    return f"{options} --mpi {sh_word(label)}{separator}{line}" if label and separator else command
