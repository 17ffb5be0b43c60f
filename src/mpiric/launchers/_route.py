"""The launch route: through the MPI library's own launcher, or through the scheduler's."""

from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

# How srun serves each library's ranks; Slurm's own pmi2 works with every MPICH since 3.
_PROCESS_MANAGERS = {"openmpi4": "pmix", "openmpi5": "pmix", "hydra": "pmi2", "intelmpi": "pmi2"}
_IN_ALLOCATION = "SLURM_JOB_ID"


def route_speller(situation: Situation, value: str) -> Spelling | None:
    """``mpirun`` or ``srun``; None where it is the user's route already or cannot be gone from here."""
    current = "srun" if situation.job.dialect == "srun" else "mpirun"
    if value == current or _IN_ALLOCATION not in situation.job.environment:
        return None
    if value == "mpirun" and situation.mpi.launcher:
        return Spelling(
            launcher_words=(situation.mpi.launcher,),
            dialect=situation.mpi.dialect,
            note="the library's launcher starts its own daemons inside the allocation",
        )
    if value == "srun":
        return _by_srun(situation)
    return None


def _by_srun(situation: Situation) -> Spelling | None:
    manager = _PROCESS_MANAGERS.get(situation.mpi.dialect)
    if manager is None:
        return None
    if situation.mpi.dialect == "intelmpi" and "I_MPI_PMI_LIBRARY" not in situation.job.environment:
        return None  # without Slurm's own PMI library named, every rank is a singleton
    return Spelling(
        launcher_words=("srun",),
        dialect="srun",
        options=((f"--mpi={manager}",),),
        note=f"needs Slurm's mpi/{manager} plug-in; srun binds by its own rules",
    )
