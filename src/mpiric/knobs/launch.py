"""Start of ranks: launcher of the library or the scheduler, and start of helpers on other nodes."""

from mpiric.knobs._declaration import knob
from mpiric.model.knob import Choice, Skip, Try, suits_every_program
from mpiric.model.situation import Situation


def _consider_route(situation: Situation) -> Skip | Try:
    if not situation.job.launcher_words:
        return Skip("no launcher is named on the command line")
    if situation.machine.scheduler != "slurm" or not situation.in_force("SLURM_JOB_ID"):
        return Skip("not inside an allocation of Slurm")
    values: tuple[str, ...] = ("srun",)
    if situation.job.dialect == "srun":
        values = ("mpirun",) if situation.mpi.launcher else ()
    return Try(values, 0.2, "launchers place and bind ranks differently")


KNOBS = (knob("launch-route", Choice(("mpirun", "srun")), _consider_route, site_default=suits_every_program),)
