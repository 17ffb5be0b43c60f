"""Try the remedy of a failed run: the changed command runs once, in a copy of the working directory."""

from dataclasses import replace
from pathlib import Path

from mpiric.host.host import Host
from mpiric.host.isolation.working_copies import CopyPolicy, WorkingCopies
from mpiric.host.processes.foreground import Output
from mpiric.lab.endings import command_line
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.workflows.profile.doctor import Diagnosis, record_directory
from mpiric.workflows.profile.profile import profile
from mpiric.workflows.profile.request import ProfileRequest
from mpiric.workflows.run.run import with_values
from mpiric.workflows.trials.users_lab import inputs_seen


@dataclass(frozen=True)
class RemedyTrial:
    """Result of the changed command."""

    command: str
    works: bool
    reason: str = ""  # why it does not work, or could not be tried


def try_remedy(request: ProfileRequest, diagnosis: Diagnosis, host: Host) -> RemedyTrial | None:
    """Run the command with the remedy of the first finding; None if no change of the command cures it.

    The run ends at the limit of the request. It works if it ends well, or is still running at the limit, and
    no failure is found in it.
    """
    explaining = [advice for advice in diagnosis.causes if advice.remedy]
    if not explaining or explaining[0].remedy is None:
        return None
    remedy, parsed = explaining[0].remedy, diagnosis.profiled.prepared.parsed
    command, job = command_line(remedy), parsed.job
    removed = set(remedy.launch.unset)
    environment = {name: value for name, value in job.environment.items() if name not in removed}
    environment |= remedy.launch.environment
    policy = CopyPolicy(on_this_node=parsed.nodes == 1)
    try:
        with (
            record_directory(replace(request, directory=None)) as store,
            WorkingCopies(Path(job.working_directory), store, policy) as copies,
        ):
            copies.depend_on(inputs_seen(job))
            directory = str(copies.fresh().path)
            argv = remedy.launch.argv
            if remedy.values:
                argv, environment = with_values(argv, directory, environment, remedy.values, host)
            changed = replace(
                request, argv=argv, working_directory=directory, environment=environment,
                directory=store / "record", mpi="", output=Output.STDERR,
            )  # fmt: skip
            done = profile(changed, host)
    except MpiricError as error:
        return RemedyTrial(command, works=False, reason=f"it could not be tried: {error.message}")
    causes = [advice for advice in done.profile.advice if advice.explains_run] if done.profile else []
    if done.ending or causes:
        return RemedyTrial(command, works=False, reason=(done.ending or causes[0]).finding.says)
    status = done.status
    return RemedyTrial(command, status == 0, f"it ended with exit status {status}" if status else "")
