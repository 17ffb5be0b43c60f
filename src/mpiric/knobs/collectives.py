"""Collective operations: tuned per call, or by one choice for the whole program.

The choices for a whole program are coarse on purpose. They use the algorithms of `spec/candidates`, from
which the tuner chooses by communicator and message size.
"""

from collections.abc import Callable, Mapping

from mpiric.algorithms.library import (
    LibraryAlgorithm,
    algorithms_of,
    are_chosen_at_start,
    coarse_algorithms,
    version_numbers,
    why_not_under_threads,
)
from mpiric.knobs._declaration import knob
from mpiric.model.job import Spelling
from mpiric.model.knob import Choice, Knob, ResultsEffect, Skip, Try
from mpiric.model.policy import COLLECTIVES, REDUCING
from mpiric.model.situation import Situation

_MOST = 5  # maximum number of values of one collective in a search

# Typical share of the communication time of each collective, for programs without a record.
_WEIGHT = {"allreduce": 0.3, "alltoall": 0.2, "bcast": 0.2, "allgather": 0.15, "reduce": 0.15}


# Programs and measurements in which another algorithm of one collective was faster.
_EVIDENCE = {
    "bcast": "benchmarks/results/answers.md: segmented broadcast, 1.24 and 1.64 times as fast",
    "alltoall": "benchmarks/results/answers.md: bruck for large blocks, 1.1 to 1.44 times as fast",
    "gather": "https://doi.org/10.1145/3149457.3149461: Hunold and Carpen-Amarie, HPC Asia 2018",
    "scatter": "https://doi.org/10.1007/s10586-007-0012-0: Pjesivac-Grbovic et al., Cluster Computing 2007",
    "barrier": "https://doi.org/10.1007/s10586-007-0012-0: Pjesivac-Grbovic et al., Cluster Computing 2007",
}
_OF_SEVERAL = "https://doi.org/10.1177/1094342005051521: Thakur, Rabenseifner and Gropp, IJHPCA 2005"


def _offered(collective: str, situation: Situation) -> tuple[LibraryAlgorithm, ...]:
    return algorithms_of(situation.mpi.implementation, collective, version_numbers(situation.mpi.version))


def _forced(collective: str, situation: Situation) -> str:
    """Return the algorithm that the user's settings select for the whole program, "" without one."""
    for algorithm in _offered(collective, situation):
        variable, value = algorithm.environment[0]
        if situation.in_force(variable) == value:
            return algorithm.name
    return ""


# Collectives with selectable algorithms, and other collectives that use the same code.
_ALSO = {
    "reduce_scatter": ("reduce_scatter_block",),
    "allgather": ("allgatherv",),
    "alltoall": ("alltoallv", "alltoallw"),
    "gather": ("gatherv",),
    "scatter": ("scatterv",),
}


def _uncalled(situation: Situation, *called: str) -> str:
    """Return why the program does not need these collectives, "" if it may call one."""
    if situation.rank_count < 2:
        return "one rank needs no collective operation"
    functions = tuple(name for collective in called for name in (collective, *_ALSO.get(collective, ())))
    if not situation.observation.can_call(*functions):
        callee = f"MPI_{called[0].capitalize()}" if len(called) == 1 else "any collective operation"
        return f"the program does not call {callee}"
    return ""


def _bounds(collective: str) -> tuple[str, ...]:
    return tuple(f"{name}_bound" for name in (collective, *_ALSO.get(collective, ())))


def _decided_by_policy(collective: str) -> Callable[[Mapping[str, str], Situation], bool]:
    def decided(values: Mapping[str, str], situation: Situation) -> bool:
        return values.get("collectives") in ("policy", "exported") and collective in situation.tuner.covered

    return decided


def _consider_algorithm(collective: str) -> Callable[[Situation], Skip | Try]:
    def consider(situation: Situation) -> Skip | Try:
        if reason := _uncalled(situation, collective):
            return Skip(reason)
        if all(situation.shown(f"{name}_calls") < 1 for name in (collective, *_ALSO.get(collective, ()))):
            return Skip("the collective is not called")
        forced = _forced(collective, situation)
        values = tuple(
            algorithm.name
            for algorithm in _offered(collective, situation)
            if algorithm.coarse and algorithm.name != forced
            if situation.ranks_per_node > 1 or algorithm.name != "shared_memory"
        )[:_MOST]
        if forced:
            return Try(values, 0.7, f"the algorithm {forced} is forced from outside")
        ranks, behaviour = situation.rank_count, situation.observation.behaviour
        # Most algorithms are identical for two ranks.
        crowd = 1.5 if ranks > 16 else 1.0 if ranks > 2 else 0.5
        share = behaviour.bound(_bounds(collective)) if behaviour else _WEIGHT.get(collective, 0.1)
        because = "thresholds between algorithms were chosen on other machines"
        return Try(values, min(0.45, share * crowd), because)

    return consider


def _algorithm_knob(collective: str, names: tuple[str, ...]) -> Knob:
    return Knob(
        name=f"{collective.replace('_', '-')}-algorithm",
        sentence=f"The algorithm of MPI_{collective.capitalize()}, one of the library's own",
        why="The best algorithm depends on ranks, sizes and network; libraries switch at fixed thresholds",
        source=(
            "the libraries' own descriptions (spec/candidates); MPICH issue 2530: Alltoall 17.6 ms for "
            "0.09 ms, "
            "Open MPI issue 8157"
        ),
        evidence=_EVIDENCE.get(collective, _OF_SEVERAL),
        domain=Choice(names),
        consider=_consider_algorithm(collective),
        results=ResultsEffect.ROUNDING if collective in REDUCING else ResultsEffect.NONE,
        idle_beside=_decided_by_policy(collective),
        touches=_bounds(collective),
        symptoms=(f"{collective}_share", "collective_share"),
    )


_RANKS_FOR_ACOLL = 16  # minimum size of its communicators


def _consider_component(situation: Situation) -> Skip | Try:
    if reason := _uncalled(situation, *coarse_algorithms()) or _no_collective(situation):
        return Skip(reason)
    offered, observation = situation.mpi.capabilities.collectives, situation.observation
    values = (
        *(value for value, library in offered.plugins.items() if observation.loads(library)),
        *(offered.between_nodes if situation.nodes > 1 else ()),
        *(offered.on_node if situation.ranks_per_node > 1 else ()),
        *offered.everywhere,
    )
    if situation.machine.cpu.vendor != "AuthenticAMD" or situation.ranks_per_node < _RANKS_FOR_ACOLL:
        values = tuple(value for value in values if value != "acoll")
    if observation.loads("libhcoll."):
        because = "hcoll carries the collectives: where it is slow or noisy, Open MPI's own are faster"
        return Try(values, 0.5, because, ("without-hcoll",))
    if situation.nodes > 1 and situation.ranks_per_node > 1:
        because = "collectives in two steps, on the node and between nodes, send less over the network"
        return Try(values, 0.4, because)
    return Try(values, 0.25, "collectives on the node go through shared buffers or through messages")


def _no_collective(situation: Situation) -> str:
    return "" if situation.shown("collective_calls") >= 1 else "no collective operation is called"


def _consider_tuner(situation: Situation) -> Skip | Try:
    tuner = situation.tuner
    if not tuner.library:
        missing = "the runtime of this installation does not tune collectives for this MPI"
        return Skip(tuner.why_not or missing)
    if reason := _uncalled(situation, *COLLECTIVES) or _no_collective(situation):
        return Skip(reason)
    values = [value for value, policy in (("policy", tuner.policy), ("exported", tuner.exported)) if policy]
    # A policy learned without reductions contains none; later runs cannot add any.
    if not values or situation.allowed.rounding:
        values.append("online")
    crowd = 1.5 if situation.rank_count > 16 else 1.0
    because = "every collective, communicator and size gets the algorithm that is fastest there"
    why = why_not_under_threads(situation.mpi.implementation)
    if why and situation.shown("many_threads", 0.0):
        because += f"; under MPI_THREAD_MULTIPLE not the library's own, as {why}"
    return Try(tuple(values), min(0.6, 0.35 * crowd), because)


def _before_init(situation: Situation) -> dict[str, str]:
    """Return the variables that must be set before MPI starts so that the runtime can select algorithms."""
    if needed := situation.mpi.capabilities.needed_to_switch_algorithms:
        return dict(needed)
    if are_chosen_at_start(situation.mpi.implementation) and situation.tuner.policy:
        return dict(situation.tuner.exported)
    return {}


def _set_tuner(value: str, situation: Situation) -> Spelling | None:
    """Return a spelling that loads the runtime; `library` excludes it even if the environment requests it."""
    tuner = situation.tuner
    if value == "library":
        return Spelling(environment={"MPIRIC_COLLECTIVES": "off"})
    if value == "exported":
        return Spelling(environment=dict(tuner.exported)) if tuner.exported else None
    if not tuner.library or (value == "policy" and not tuner.policy):
        return None
    policy = {"MPIRIC_POLICY": tuner.policy} if tuner.policy else {}
    keeps_order = value == "online" and not situation.allowed.rounding
    order = {"MPIRIC_REPRODUCIBLE": "1"} if keeps_order else {}
    return Spelling(
        environment={
            "MPIRIC_COLLECTIVES": value,
            **policy,
            **order,
            **_before_init(situation),
            **dict(tuner.settings),
        },
        preload=(tuner.library,),
        note="needs mpiric's runtime in the ranks; `mpiric report POLICY --export DIR` writes what does not",
    )


KNOBS = (
    knob(
        "collectives",
        Choice(("online", "policy", "exported", "library")),
        _consider_tuner,
        results=ResultsEffect.CHECKED,  # reductions stay the library's unless rounding is allowed
        settings=_set_tuner,
    ),
    knob(
        "collective-component",
        Choice(
            (
                *("han", "adapt", "sm", "xhc", "acoll", "ucc", "tuned", "without-hcoll"),
                *("messages", "shared-memory"),
            )
        ),
        _consider_component,
        results=ResultsEffect.ROUNDING,
    ),
    *(_algorithm_knob(collective, names) for collective, names in coarse_algorithms().items()),
)
