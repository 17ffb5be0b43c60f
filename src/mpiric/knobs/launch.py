"""Start of ranks: launcher of the library or the scheduler, and start of helpers on other nodes."""

from mpiric.model.knob import Choice, Knob, Skip, Try, suits_every_program
from mpiric.model.situation import Situation


def _in_slurm(situation: Situation) -> bool:
    return situation.machine.scheduler == "slurm" and bool(situation.in_force("SLURM_JOB_ID"))


def _consider_route(situation: Situation) -> Skip | Try:
    if not situation.job.launcher_words:
        return Skip("no launcher is named on the command line")
    if not _in_slurm(situation):
        return Skip("not inside an allocation of Slurm")
    values: tuple[str, ...] = ("srun",)
    if situation.job.dialect == "srun":
        values = ("mpirun",) if situation.mpi.launcher else ()
    return Try(values, 0.2, "launchers place and bind ranks differently")


KNOBS = (
    Knob(
        name="launch-route",
        sentence="Whether the library's own launcher or srun starts the ranks",
        why="They place and bind ranks differently, and start large jobs at different speed",
        source=(
            "measured elsewhere: LAMMPS on 96 ranks 41.0 s by mpirun, 64.2 s by srun without affinity "
            "(CHPC); "
            "Slurm MPI guide"
        ),
        evidence="https://www.chpc.utah.edu: LAMMPS on 96 ranks, 41.0 s by mpirun, 64.2 s by srun",
        domain=Choice(("mpirun", "srun")),
        consider=_consider_route,
        site_default=suits_every_program,
        symptoms=("mpi_share", "unbound_share"),
    ),
)
