"""Launch route: through the launcher of the MPI library, or through the launcher of the scheduler."""

from mpiric.launchers._registry import dialects
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

_IN_ALLOCATION = "SLURM_JOB_ID"


def route_speller(situation: Situation, value: str) -> Spelling | None:
    """Switch to ``mpirun`` or ``srun``; None if the user already uses it or it is not possible."""
    current = "srun" if situation.job.dialect == "srun" else "mpirun"
    if value == current or _IN_ALLOCATION not in situation.job.environment:
        return None
    if value == "mpirun" and situation.mpi.launcher:
        return Spelling(
            launcher_words=(situation.mpi.launcher,),
            dialect=situation.mpi.dialect,
            note="the launcher of the library starts its own daemons inside the allocation",
        )
    if value == "srun":
        return _by_srun(situation)
    return None


def _by_srun(situation: Situation) -> Spelling | None:
    launcher = dialects().get(situation.mpi.dialect)
    if launcher is None or not launcher.process_manager:
        return None
    if launcher.process_manager_needs and launcher.process_manager_needs not in situation.job.environment:
        return None
    manager = launcher.process_manager
    return Spelling(
        launcher_words=("srun",),
        dialect="srun",
        options=((f"--mpi={manager}",),),
        note=f"needs Slurm's mpi/{manager} plug-in; srun binds by its own rules",
    )
