"""How ranks are started: by the library's launcher or the scheduler's, and how helpers reach other nodes."""

from mpiric.knobs._declare import no, promising, suits_every_program, yes
from mpiric.knobs._reading import in_force
from mpiric.model.knob import Applicability, Choice, Knob
from mpiric.model.situation import Situation


def _in_slurm(situation: Situation) -> bool:
    return situation.machine.scheduler == "slurm" and bool(in_force(situation, "SLURM_JOB_ID"))


def _route_values(situation: Situation) -> tuple[str, ...]:
    if situation.job.dialect == "srun":
        return ("mpirun",) if situation.mpi.launcher else ()
    return ("srun",) if _in_slurm(situation) else ()


def _route_applies(situation: Situation) -> Applicability:
    if not situation.job.launcher_words:
        return no("no launcher is named on the command line")
    if not _in_slurm(situation):
        return no("not inside an allocation of Slurm")
    return yes("inside an allocation of Slurm both routes are open")


def _bootstrap_values(situation: Situation) -> tuple[str, ...]:
    return ("slurm", "ssh") if _in_slurm(situation) else ("ssh",)


def _bootstrap_applies(situation: Situation) -> Applicability:
    if "bootstrap" not in situation.job.launcher.settings:
        return no("the launcher chooses by itself")
    if situation.nodes < 2:
        return no("the job stays on one node")
    return yes("the launcher has to reach other nodes")


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
        domain=Choice(("mpirun", "srun")),
        values=_route_values,
        applies=_route_applies,
        promise=promising(0.2, "launchers place and bind ranks differently"),
        site_default=suits_every_program,
        symptoms=("mpi_share", "unbound_share"),
    ),
    Knob(
        name="bootstrap",
        sentence="How the launcher starts its helpers on other nodes",
        why="ssh connects node by node; the scheduler's daemons are there already",
        source="Hydra manual -bootstrap; I_MPI_HYDRA_BOOTSTRAP in the Intel MPI Developer Reference",
        domain=Choice(("slurm", "ssh")),
        values=_bootstrap_values,
        applies=_bootstrap_applies,
        promise=promising(0.1, "start-up counts in short programs only"),
        site_default=suits_every_program,
        ceiling=("outside_bound",),
    ),
)
