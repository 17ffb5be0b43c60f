"""Collective operations: tuned call by call, or by one choice for the whole program.

The choices for a whole program are coarse on purpose; their algorithms are those of `spec/candidates`, among
which the tuner chooses by communicator and message size.
"""

from collections.abc import Callable, Mapping

from mpiric.algorithms.library import (
    LibraryAlgorithm,
    algorithms_of,
    are_chosen_at_start,
    coarse_algorithms,
    version_numbers,
)
from mpiric.knobs._declare import no, yes
from mpiric.knobs._reading import in_force, rank_count, ranks_per_node
from mpiric.model.knob import Applicability, Choice, Knob, Promise, ResultsEffect
from mpiric.model.policy import COLLECTIVES, REDUCING
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

_MOST = 5  # values a whole-program search tries of one collective

# How much of the communication time of usual programs each stands for, where no run was recorded.
_WEIGHT = {"allreduce": 0.3, "alltoall": 0.2, "bcast": 0.2, "allgather": 0.15, "reduce": 0.15}


def _values_of(collective: str) -> Callable[[Situation], tuple[str, ...]]:
    def values(situation: Situation) -> tuple[str, ...]:
        several_on_node = ranks_per_node(situation) > 1
        forced = _forced(collective, situation)
        return tuple(
            algorithm.name
            for algorithm in _offered(collective, situation)
            if algorithm.coarse and algorithm.name != forced
            if several_on_node or algorithm.name != "shared_memory"
        )[:_MOST]

    return values


def _offered(collective: str, situation: Situation) -> tuple[LibraryAlgorithm, ...]:
    return algorithms_of(situation.mpi.implementation, collective, version_numbers(situation.mpi.version))


def _forced(collective: str, situation: Situation) -> str:
    """The algorithm that the user's settings choose for the whole program, "" where they leave it open."""
    for algorithm in _offered(collective, situation):
        variable, value = algorithm.environment[0]
        if in_force(situation, variable) == value:
            return algorithm.name
    return ""


# Every collective an algorithm of which can be chosen, and those carried out by the same code.
_ALSO = {
    "reduce_scatter": ("reduce_scatter_block",),
    "allgather": ("allgatherv",),
    "alltoall": ("alltoallv", "alltoallw"),
    "gather": ("gatherv",),
    "scatter": ("scatterv",),
}


def _applies_to(*called: str) -> Callable[[Situation], Applicability]:
    words = f"MPI_{called[0].capitalize()}" if len(called) == 1 else "any collective operation"
    functions = tuple(name for each in called for name in (each, *_ALSO.get(each, ())))

    def applies(situation: Situation) -> Applicability:
        if rank_count(situation) < 2:
            return no("one rank needs no collective operation")
        if not situation.observation.can_call(*functions):
            return no(f"the program does not call {words}")
        known = bool(situation.observation.mpi_calls)
        return yes(f"the program can call {words}" if known else "what the program calls is unknown")

    return applies


def _promise_of(collective: str) -> Callable[[Situation], Promise]:
    weight = _WEIGHT.get(collective, 0.1)

    def promise(situation: Situation) -> Promise:
        if forced := _forced(collective, situation):
            return Promise(0.7, f"the algorithm {forced} is forced from outside")
        ranks = rank_count(situation)
        crowd = 1.5 if ranks > 16 else 1.0 if ranks > 2 else 0.5  # between two ranks most are the same
        behaviour = situation.observation.behaviour
        share = behaviour.bound(_bounds(collective)) if behaviour else weight
        return Promise(
            min(0.45, share * crowd), "thresholds between algorithms were chosen on other machines"
        )

    return promise


def _bounds(collective: str) -> tuple[str, ...]:
    return tuple(f"{name}_bound" for name in (collective, *_ALSO.get(collective, ())))


def _decided_by_policy(collective: str) -> Callable[[Mapping[str, str], Situation], bool]:
    def decided(values: Mapping[str, str], situation: Situation) -> bool:
        return values.get("collectives") in ("policy", "exported") and collective in situation.tuner.covered

    return decided


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
        domain=Choice(names),
        values=_values_of(collective),
        applies=_applies_to(collective),
        promise=_promise_of(collective),
        results=ResultsEffect.ROUNDING if collective in REDUCING else ResultsEffect.NONE,
        idle_beside=_decided_by_policy(collective),
        matters_when=(
            " or ".join(f"{name}_calls >= 1" for name in (collective, *_ALSO.get(collective, ()))),
        ),
        ceiling=_bounds(collective),
        symptoms=(f"{collective}_share", "collective_share"),
    )


def _component_values(situation: Situation) -> tuple[str, ...]:
    offered = situation.mpi.capabilities.collectives
    without = (value for value, library in offered.plugins.items() if situation.observation.loads(library))
    between = offered.between_nodes if situation.nodes > 1 else ()
    on_node = offered.on_node if ranks_per_node(situation) > 1 else ()
    return (*without, *between, *on_node, *offered.everywhere)


def _component_promise(situation: Situation) -> Promise:
    if situation.observation.loads("libhcoll."):
        because = "hcoll carries the collectives: where it is slow or noisy, Open MPI's own are faster"
        return Promise(0.5, because, ("without-hcoll",))
    if situation.nodes > 1 and ranks_per_node(situation) > 1:
        return Promise(
            0.4, "collectives in two steps, on the node and between nodes, send less over the network"
        )
    return Promise(0.25, "collectives on the node go through shared buffers or through messages")


def _tuner_values(situation: Situation) -> tuple[str, ...]:
    """What was learned with reductions left alone is a policy without them; later runs may do no other."""
    tuner = situation.tuner
    policies = [value for value, there in (("policy", tuner.policy), ("exported", tuner.exported)) if there]
    if not tuner.library or (policies and not situation.allowed.rounding):
        return tuple(policies)
    return (*policies, "online")


def _tuner_applies(situation: Situation) -> Applicability:
    if not situation.tuner.library:
        return no(
            situation.tuner.why_not
            or "the runtime of this installation does not tune collectives for this MPI"
        )
    return _applies_to(*COLLECTIVES)(situation)


def _tuner_promise(situation: Situation) -> Promise:
    crowd = 1.5 if rank_count(situation) > 16 else 1.0
    why = "every collective, communicator and size gets the algorithm that is fastest there"
    return Promise(min(0.6, 0.35 * crowd), why)


def _before_init(situation: Situation) -> dict[str, str]:
    """What must be there when MPI starts so that the runtime's choices among the library's own count."""
    if needed := situation.mpi.capabilities.needed_to_switch_algorithms:
        return dict(needed)
    if are_chosen_at_start(situation.mpi.implementation) and situation.tuner.policy:
        return dict(situation.tuner.exported)
    return {}


def _tuner_spelling(value: str, situation: Situation) -> Spelling | None:
    """The runtime in the ranks; `library` keeps it out even where the environment requests it."""
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
    Knob(
        name="collectives",
        sentence=(
            "Who chooses the algorithm of a collective call: the library, mpiric's runtime by measurement "
            "online or by a policy, or the library by its own form of that policy (exported)"
        ),
        why="The best algorithm differs by collective, communicator and size; a program has many of each",
        source=(
            "spec/formats/policy.md; Intel's Autotuner reports 1.53x for Allreduce, 1.62x for Bcast and "
            "1.42x for Scatter over 0-4 MB, 96 ranks"
        ),
        domain=Choice(("online", "policy", "exported", "library")),
        values=_tuner_values,
        applies=_tuner_applies,
        promise=_tuner_promise,
        results=ResultsEffect.CHECKED,  # reductions stay the library's unless rounding is allowed
        spell=_tuner_spelling,
        matters_when=("collective_calls >= 1",),
        ceiling=("collective_bound",),
        symptoms=("collective_share", "collective_transfer_share"),
    ),
    Knob(
        name="collective-component",
        sentence="The part of the library that carries out collective operations",
        why="Hierarchical, shared-memory and message-based implementations suit different machines",
        source=(
            "coll_han_priority, coll_adapt_priority and coll_sm_priority in the Open MPI docs, "
            "MPIR_CVAR_<COLLECTIVE>_POSIX_INTRA_ALGORITHM, I_MPI_COLL_INTRANODE, MV2_USE_SHMEM_COLL; "
            "hcoll: Open MPI issues 9761, 10678"
        ),
        domain=Choice(("han", "adapt", "sm", "xhc", "tuned", "without-hcoll", "messages", "shared-memory")),
        values=_component_values,
        applies=_applies_to(*coarse_algorithms()),
        promise=_component_promise,
        results=ResultsEffect.ROUNDING,
        matters_when=("collective_calls >= 1",),
        ceiling=("collective_bound",),
        symptoms=("collective_share", "collective_transfer_share"),
    ),
    *(_algorithm_knob(collective, names) for collective, names in coarse_algorithms().items()),
)
