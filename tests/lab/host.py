"""Host of the cluster as a `Host` of mpiric, whose commands run there."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.lab.enter import command_line

from mpiric.host.facts.local import LocalHost
from mpiric.host.host import HERE, Completed


class LabHost(LocalHost):
    """A `Host` that runs commands on a host of the cluster and reads files of this machine."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory, self._name = directory, name

    def run(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str | None] | None = None,
        timeout_s: float = 20.0,
        **_: object,
    ) -> Completed:
        """Run a short command on the host."""
        command = command_line(self._directory, self._name, argv)
        # The command that enters the host is found from here; it changes the directory itself.
        return super().run(command, environment=environment, timeout_s=timeout_s, working_directory=HERE)
