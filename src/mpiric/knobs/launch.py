"""Start of ranks: launcher of the library or the scheduler, and the topology that both read."""

import hashlib

from mpiric.knobs._declaration import knob
from mpiric.model.amount import seconds
from mpiric.model.job import Spelling
from mpiric.model.knob import Choice, Skip, Try, suits_every_program
from mpiric.model.situation import Situation

_SLOW_TOPOLOGY_S = 0.3  # hwloc usually takes some hundredths of a second


def _consider_route(situation: Situation) -> Skip | Try:
    if not situation.job.launcher_words:
        return Skip("no launcher is named on the command line")
    if situation.machine.scheduler != "slurm" or not situation.in_force("SLURM_JOB_ID"):
        return Skip("not inside an allocation of Slurm")
    values: tuple[str, ...] = ("srun",)
    if situation.job.dialect == "srun":
        values = ("mpirun",) if situation.mpi.launcher else ()
    return Try(values, 0.2, "launchers place and bind ranks differently")


def _consider_topology(situation: Situation) -> Skip | Try:
    redirected = (name for name in situation.job.environment if name.startswith("HWLOC_"))
    if situation.nodes > 1:
        return Skip("other nodes may differ from the described node")
    if situation.job.container is not None:
        return Skip("the file need not exist inside the container")
    if name := next(redirected, ""):
        return Skip(f"{name} is set")
    if not situation.machine.topology.xml or not situation.hint_directory:
        return Skip("hwloc does not describe this machine")
    if situation.topology_s <= _SLOW_TOPOLOGY_S:
        return Skip(f"hwloc reads the topology of this machine in {seconds(situation.topology_s)}")
    because = (
        f"hwloc takes {seconds(situation.topology_s)} to read the topology, in the launcher and in ranks"
    )
    return Try(("file",), 0.6, because)


def _topology_file(_value: str, situation: Situation) -> Spelling | None:
    text = situation.machine.topology.xml
    if not text or not situation.hint_directory or situation.nodes > 1:
        return None
    name = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
    path = f"{situation.hint_directory}/{name}.xml"
    variables = {"HWLOC_XMLFILE": path, "HWLOC_THISSYSTEM": "1"}
    return Spelling(
        environment=variables,
        launcher_environment=variables,
        files={path: text},
        note="the file describes this machine with the CPUs of this allocation",
    )


KNOBS = (
    knob("launch-route", Choice(("mpirun", "srun")), _consider_route, site_default=suits_every_program),
    knob("topology", Choice(("file",)), _consider_topology, settings=_topology_file),
)
