"""The tune that jobs of ``--submit`` work on: made before the first of them, found again later."""

from pathlib import Path

from mpiric.launchers import parse_command
from mpiric.model.errors import NotFoundError
from mpiric.tuning.store.store import Store
from mpiric.workflows.launch.fingerprints import job_identity, program_name
from mpiric.workflows.submit.submit import is_submission
from mpiric.workflows.tune.request import TuneRequest
from mpiric.workflows.tune.space import check_names


def tune_to_submit(request: TuneRequest) -> Path:
    """Directory of the tune that jobs will work on: a new one, or with ``resume`` the last submitted one."""
    check_names([*request.only, *request.without])
    job = parse_command(request.argv, request.working_directory, request.environment)
    store, identity = Store(request.store), job_identity(job)
    if request.resume:
        of_job = (each.path for each in store.tunes() if each.job == identity)
        submitted = [path for path in of_job if is_submission(path)]
        if not submitted:
            raise NotFoundError(
                f"no tune of this command was submitted with its record in {store.root}",
                hint="submit one without --resume, or name its store with --store DIR",
            )
        return submitted[-1].absolute()
    with store.create(program_name(job), identity, job.argv, objective=request.objective.text) as made:
        return made.path.absolute()
