"""The tune of ``--submit``: created before the first job, and located again by later jobs."""

from pathlib import Path

from mpiric.launchers import parse_command
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.tuning.store.events import read_log
from mpiric.tuning.store.store import EVENTS, Store
from mpiric.workflows.launch.fingerprints import job_identity, program_name
from mpiric.workflows.submit.submit import is_submission
from mpiric.workflows.tune.request import TuneRequest
from mpiric.workflows.tune.space import check_names


def tune_to_submit(request: TuneRequest) -> Path:
    """Return the directory of a submitted tune: a new one, or with ``resume`` the last submitted one."""
    check_names([*request.only, *request.without])
    job = parse_command(request.argv, request.working_directory, request.environment)
    store, identity = Store(request.store), job_identity(job)
    if request.resume:
        submitted = _submitted(store, identity)
        if not submitted:
            raise NotFoundError(
                f"no tune of this command was submitted with its record in {store.root}",
                hint="submit one without --resume, or name its store with --store DIR",
            )
        return submitted[-1].absolute()
    meta = {"objective": request.objective.text, "options": list(request.options)}
    with store.create(program_name(job), identity, job.argv, **meta) as log:
        return log.path.absolute()


def options_of_tune(
    argv: tuple[str, ...], working_directory: str, place: Path | None, *, submitted: bool
) -> tuple[str, ...]:
    """Return the options of the tune to continue; () without such a tune or without kept options."""
    store, identity = Store(place), job_identity(parse_command(argv, working_directory, {}))
    paths = _submitted(store, identity)
    if not submitted:
        try:
            paths = [store.latest(identity).path]
        except MpiricError:
            return ()  # reported where it is opened
    options = read_log(paths[-1] / EVENTS).meta.get("options") if paths else None
    return tuple(map(str, options)) if isinstance(options, list) else ()


def _submitted(store: Store, identity: str) -> list[Path]:
    of_job = (tune.path for tune in store.tunes() if tune.job == identity)
    return [path for path in of_job if is_submission(path)]
