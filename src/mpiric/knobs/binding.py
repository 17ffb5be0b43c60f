"""Where ranks may run: binding to a level of the machine, and the order in which the levels fill."""

from mpiric.knobs._declare import no, suits_every_program, yes
from mpiric.knobs._reading import cpus_per_node, is_hybrid, is_oversubscribed, rank_count, threads_per_rank
from mpiric.knobs.libraries import binding_in_force
from mpiric.model.knob import Applicability, Choice, Knob, Promise
from mpiric.model.situation import Situation

_LEVELS = ("none", "core", "hwthread", "l3", "numa", "package")
_ORDERS = ("compact", "spread-numa", "spread-package", "node-round-robin")


def _levels_here(situation: Situation) -> tuple[str, ...]:
    topology = situation.machine.topology
    l3_count = len({cache.pus for cache in topology.caches if cache.level == 3})
    present = [("l3", l3_count > 1), ("numa", len(topology.numa_nodes) > 1)]
    present.append(("package", len(topology.packages) > 1))
    wide = tuple(level for level, several in present if several)
    narrow = ("core", "hwthread") if topology.has_smt else ("core",)
    if is_hybrid(situation) and threads_per_rank(situation) > 1:
        return wide  # on one core, all threads of a rank would take turns
    return (*narrow, *wide)


def _binding_values(situation: Situation) -> tuple[str, ...]:
    if is_oversubscribed(situation):
        return () if situation.observation.unbound else ("none",)
    levels = _levels_here(situation) if situation.observation.unbound else (*_levels_here(situation), "none")
    in_use = (*_level_in_use(situation), _documented_level(situation))
    return tuple(level for level in levels if level not in in_use)


def _documented_level(situation: Situation) -> str:
    """Return the level of the library's own launcher where ranks are on nodes that were not looked at."""
    is_seen = situation.nodes == 1 and situation.observation.ranks
    if is_seen or situation.observation.unbound or situation.job.dialect != situation.mpi.dialect:
        return ""
    return binding_in_force(situation.mpi, situation)


def _level_in_use(situation: Situation) -> tuple[str, ...]:
    """Levels that ranks were seen to be bound to, each rank to one of its own."""
    bound = [frozenset(rank.cpus_allowed) for rank in situation.observation.ranks]
    if situation.nodes > 1 or not bound or len(set(bound)) < len(bound):
        return ()
    topology = situation.machine.topology
    places = {
        "core": {frozenset(core.pus) for core in topology.cores},
        "hwthread": {frozenset((pu,)) for pu in topology.pus},
        "l3": {frozenset(cache.pus) for cache in topology.caches if cache.level == 3},
        "numa": {frozenset(node.pus) for node in topology.numa_nodes},
    }
    return tuple(level for level, sets in places.items() if sets.issuperset(bound))


def _binding_applies(situation: Situation) -> Applicability:
    if cpus_per_node(situation) < 2:
        return no("the job has one CPU: there is nothing to choose")
    return yes("the job has several CPUs")


def _binding_promise(situation: Situation) -> Promise:
    if is_oversubscribed(situation):
        return Promise(
            0.7, "more ranks than CPUs: a bound rank waits for its CPU while others idle", ("none",)
        )
    if situation.observation.unbound and rank_count(situation) > 1 and _levels_here(situation):
        because = "no rank is bound: the kernel moves them away from their caches"
        return Promise(0.9, because, _levels_here(situation)[:1])
    shared: dict[tuple[int, ...], int] = {}
    for rank in situation.observation.ranks:
        shared[rank.cpus_allowed] = shared.get(rank.cpus_allowed, 0) + 1
    if any(count > len(cpus) for cpus, count in shared.items() if cpus):
        return Promise(
            0.95, "several ranks are bound to the same CPU", (*_levels_here(situation)[:1], "none")
        )
    if is_hybrid(situation) and threads_per_rank(situation) > 1:
        return Promise(0.5, "threads of a rank share what it is bound to", _levels_here(situation)[:2])
    return Promise(0.2, "ranks are bound already; another level may fit better")


def _mapping_values(situation: Situation) -> tuple[str, ...]:
    topology = situation.machine.topology
    several = (
        ("spread-numa", len(topology.numa_nodes) > 1),
        ("spread-package", len(topology.packages) > 1),
        ("compact", len(topology.numa_nodes) > 1 or situation.nodes > 1),
        ("node-round-robin", situation.nodes > 1),
    )
    in_use = _order_in_use(situation)
    return tuple(order for order, possible in several if possible and order != in_use)


def _order_in_use(situation: Situation) -> str:
    """Return the order in which the library's launcher fills nodes by itself, "" where it is unknown."""
    if not situation.mpi.capabilities.maps_as_it_binds or situation.job.dialect != situation.mpi.dialect:
        return ""
    orders = {"none": "compact", "core": "compact", "numa": "spread-numa", "package": "spread-package"}
    return orders.get(binding_in_force(situation.mpi, situation), "")


def _mapping_applies(situation: Situation) -> Applicability:
    if rank_count(situation) < 2:
        return no("one rank has no neighbours")
    if not _mapping_values(situation):
        return no("one node with one memory domain, or no order that the launcher does not use by itself")
    return yes("ranks can sit in several memory domains or nodes")


def _mapping_promise(situation: Situation) -> Promise:
    if rank_count(situation) < cpus_per_node(situation) * max(1, situation.nodes):
        return Promise(0.5, "fewer ranks than cores: spreading gives each more memory bandwidth and cache")
    return Promise(0.3, "neighbouring ranks that talk much gain from sitting close")


KNOBS = (
    Knob(
        name="binding",
        sentence="The level of the machine each rank is bound to",
        why="A rank that stays on its core keeps its caches and memory close; MPICH does not bind by default",
        source=(
            "measured: MPICH 5.0.2 ping-pong of 8 bytes 3.4-4 µs unbound, 1.1-1.4 µs bound to cores; "
            "mpirun(1) of Open MPI, the Hydra manual, Intel MPI Developer Reference 'Process Pinning'"
        ),
        domain=Choice(_LEVELS),
        values=_binding_values,
        applies=_binding_applies,
        promise=_binding_promise,
        site_default=suits_every_program,
        symptoms=("unbound_share", "mpi_share", "involuntary_per_s"),
    ),
    Knob(
        name="mapping",
        sentence="The order in which ranks fill memory domains, sockets and nodes",
        why="Close ranks exchange faster; spread ranks have more memory bandwidth each",
        source=(
            "mpirun(1) --map-by and --rank-by, the Hydra manual -map-by, Intel MPI I_MPI_PIN_ORDER; "
            "STREAM on 2 × EPYC 7742: 64 threads on every second core 329 GB/s, 128 threads 310 GB/s (site "
            "documentation)"
        ),
        domain=Choice(_ORDERS),
        values=_mapping_values,
        applies=_mapping_applies,
        promise=_mapping_promise,
        symptoms=("mpi_share", "off_node_share"),
    ),
)
