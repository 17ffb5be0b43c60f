"""Spelling of knobs by a dialect, and spellers that several dialects share: placement and launch route."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from mpiric.launchers._dialect import Speller, Words, dialects
from mpiric.launchers._hosts import names_speller
from mpiric.model.amount import count_of
from mpiric.model.errors import MismatchError
from mpiric.model.job import Spelling
from mpiric.model.machine import pu_list
from mpiric.model.situation import Situation


def by_word(keywords: Mapping[str, str], write: Callable[[str], Words]) -> Speller:
    """Return the speller of a knob with one option and a keyword for each supported value."""

    def speller(_situation: Situation, value: str) -> Spelling | None:
        return Spelling(options=(write(keywords[value]),)) if value in keywords else None

    return speller


def by_depth(depth: str, binding: str) -> Speller:
    """Return the speller of CPUs per rank for ALPS and PALS, from the options for depth and binding."""

    def speller(_situation: Situation, value: str) -> Spelling | None:
        return Spelling(options=((depth, value), (binding, "depth"))) if count_of(value) else None

    return speller


def by_variable(name: str, keywords: Mapping[str, str]) -> Speller:
    """Return the speller of a knob with a variable that the launcher reads, and a keyword per value."""

    def speller(_situation: Situation, value: str) -> Spelling | None:
        return Spelling(environment={name: keywords[value]}) if value in keywords else None

    return speller


def ranks_on_each(situation: Situation, nodes: int) -> int:
    """Return the ranks per node on a number of nodes, from the command or else as observed."""
    ranks = max(1, len(situation.observation.ranks), situation.job.ranks or 0)
    return -(-ranks // nodes)


def ranks_per_node(situation: Situation) -> int | None:
    """Return the number of ranks on a node, None if the command has no number of ranks."""
    ranks = situation.job.ranks
    return None if ranks is None else -(-ranks // max(1, situation.nodes))


def crowded(situation: Situation) -> bool:
    """Return whether ranks must share a core, which some launchers refuse to bind by default."""
    ranks = ranks_per_node(situation) or len(situation.observation.ranks)
    return ranks > len(situation.machine.usable_cores)


def threads_per_core(situation: Situation) -> int:
    """Return the hardware threads of a core, at least 1."""
    topology = situation.machine.topology
    return max(1, len(topology.pus) // max(1, len(topology.cores)))


def cores_for(situation: Situation, cpus: str) -> int:
    """Return the number of cores with ``cpus`` hardware threads, for launchers that count cores."""
    return -(-int(cpus) // threads_per_core(situation))


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
    return None


def spell(knob: str, value: str, situation: Situation) -> Spelling | None:
    """Return how the job's launcher writes a knob's value; None if it has no syntax for it."""
    dialect = dialects()[situation.job.dialect]
    speller = names_speller if knob == "host-names" else dialect.spellings.get(knob)
    if speller is not None and (knob, value) == ("binding", "free"):
        return _among_free_cpus(situation, speller) if dialect.inherits_cpus else None
    return None if speller is None else speller(situation, value)


def _among_free_cpus(situation: Situation, binding: Speller) -> Spelling | None:
    """Restrict the launcher to the CPUs that other jobs leave free, and let it bind no rank.

    Raises MismatchError if no CPU is free.
    """
    unbound, free = binding(situation, "none"), situation.free_cpus
    if unbound is None or situation.nodes > 1:
        return None
    if not free:
        raise MismatchError(
            "other jobs are bound to all CPUs of this node that the command may use",
            hint="wait for them (`mpiric ps` lists them), or leave binding=free out",
        )
    note = f"ranks share the CPUs {pu_list(free)}, to which no other job is bound now"
    return replace(unbound, in_front=("taskset", "-c", pu_list(free)), note=note)


def spell_carried(knob: str, value: str, situation: Situation) -> Spelling | None:
    """Return how the launcher keeps a default that the user did not set; None: like a chosen value."""
    speller = dialects()[situation.job.dialect].spellings_of_carried.get(knob)
    return None if speller is None else speller(situation, value)
