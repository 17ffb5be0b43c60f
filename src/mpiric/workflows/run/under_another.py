"""A command as `mpiric run --mpi` starts it: launch line and environment of its own for another library."""

from collections.abc import Mapping, Sequence

from mpiric.host.host import Host
from mpiric.model.quoting import sh_word
from mpiric.workflows.run.collectives import RunRequest
from mpiric.workflows.run.run import prepare


def under_another(
    argv: Sequence[str], working_directory: str, environment: Mapping[str, str], label: str, host: Host
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The launch line and the environment of a command under the MPI library of a label."""
    asked = RunRequest(tuple(argv), working_directory, environment, use_recipe=False, values={"mpi": label})
    launch = prepare(asked, host).launch
    kept = {name: value for name, value in environment.items() if name not in launch.unset}
    return tuple(launch.argv), {**kept, **launch.environment}


def with_mpi(command: str, label: str) -> str:
    """A command that mpiric proposes for a launch line, for the same under the library of a label."""
    words, separator, line = command.partition(" -- ")
    return f"{words} --mpi {sh_word(label)}{separator}{line}" if label and separator else command
