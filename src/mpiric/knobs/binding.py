"""Binding of ranks to a level of the machine, and the order in which the levels are filled."""

from collections import Counter

from mpiric.knobs._declaration import knob
from mpiric.knobs.libraries import binding_in_force
from mpiric.model.knob import Choice, Skip, Try, suits_every_program
from mpiric.model.situation import Situation

_FREE = "free"  # the CPUs to which no other job is bound
_LEVELS = (_FREE, "none", "core", "hwthread", "l3", "numa", "package")
_ORDERS = ("compact", "spread-numa", "spread-package", "node-round-robin")


def _levels_here(situation: Situation) -> tuple[str, ...]:
    topology = situation.machine.topology
    several = (
        ("l3", len({cache.pus for cache in topology.caches if cache.level == 3})),
        ("numa", len(topology.numa_nodes)),
        ("package", len(topology.packages)),
    )
    wide = tuple(level for level, count in several if count > 1)
    if situation.is_hybrid and situation.threads_per_rank > 1:
        return wide  # all threads of a rank would share one core
    return ("core", *(("hwthread",) if topology.has_smt else ()), *wide)


def _documented_level(situation: Situation) -> str:
    """Return the level that the library's launcher binds to by default on nodes that were not observed."""
    is_seen = situation.nodes == 1 and situation.observation.ranks
    if is_seen or situation.observation.unbound or situation.job.dialect != situation.mpi.dialect:
        return ""
    return binding_in_force(situation.mpi, situation)


def _must_share(situation: Situation) -> bool:
    """Return whether ranks were observed on CPUs to which another job on this node is bound."""
    observation = situation.observation
    if situation.nodes > 1 or observation.unbound or not observation.ranks:
        return False
    free = set(situation.free_cpus)
    return any(not free.issuperset(rank.cpus_allowed) for rank in observation.ranks)


def _levels_in_use(situation: Situation) -> tuple[str, ...]:
    """Return the levels that ranks were observed to be bound to, each rank to a domain of its own."""
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


def _consider_binding(situation: Situation) -> Skip | Try:
    observation, levels = situation.observation, _levels_here(situation)
    if situation.cpus_per_node < 2:
        return Skip("the job has one CPU: there is nothing to choose")
    if situation.is_oversubscribed:
        if observation.unbound:
            return Skip("there are more ranks than CPUs, and no rank is bound")
        because = "more ranks than CPUs: a bound rank waits for its CPU while others idle"
        return Try(("none",), 0.7, because, ("none",))
    needed = situation.ranks_per_node * situation.threads_per_rank
    if _must_share(situation) and len(situation.free_cpus) >= needed:
        because = "another job on this node is bound to the same CPUs, while others are free"
        return Try((_FREE, "none"), 0.95, because, (_FREE,))
    in_use = (*_levels_in_use(situation), _documented_level(situation))
    values = tuple(level for level in levels if level not in in_use)
    if observation.unbound:
        if situation.rank_count > 1 and levels:
            because = "no rank is bound: the kernel moves them away from their caches"
            return Try(values, 0.9, because, levels[:1])
    else:
        values = (*values, *(() if "none" in in_use else ("none",)))
    shared = Counter(rank.cpus_allowed for rank in observation.ranks)
    if any(count > len(cpus) for cpus, count in shared.items() if cpus):
        return Try(values, 0.95, "several ranks are bound to the same CPU", (*levels[:1], "none"))
    if situation.is_hybrid and situation.threads_per_rank > 1:
        return Try(values, 0.5, "threads of a rank share what it is bound to", levels[:2])
    return Try(values, 0.2, "ranks are bound already; another level may fit better")


def _consider_mapping(situation: Situation) -> Skip | Try:
    topology, nodes = situation.machine.topology, situation.nodes
    if situation.rank_count < 2:
        return Skip("one rank has no neighbours")
    several = (
        ("spread-numa", len(topology.numa_nodes) > 1),
        ("spread-package", len(topology.packages) > 1),
        ("compact", len(topology.numa_nodes) > 1 or nodes > 1),
        ("node-round-robin", nodes > 1),
    )
    values = tuple(order for order, possible in several if possible)
    if not values:
        return Skip("one node with one memory domain: every order is the same")
    in_use = _order_in_use(situation)
    values = tuple(order for order in values if order != in_use)
    if not values:
        return Skip("the launcher uses the only possible order by itself")
    if situation.rank_count < situation.cpus_per_node * max(1, nodes):
        because = "fewer ranks than cores: spreading gives each more memory bandwidth and cache"
        return Try(values, 0.5, because)
    return Try(values, 0.3, "ranks that exchange many messages gain from being close")


def _order_in_use(situation: Situation) -> str:
    """Return the order in which the library's launcher fills nodes by default, "" if unknown."""
    if not situation.mpi.capabilities.maps_as_it_binds or situation.job.dialect != situation.mpi.dialect:
        return ""
    orders = {"none": "compact", "core": "compact", "numa": "spread-numa", "package": "spread-package"}
    return orders.get(binding_in_force(situation.mpi, situation), "")


KNOBS = (
    knob("binding", Choice(_LEVELS), _consider_binding, site_default=suits_every_program),
    knob("mapping", Choice(_ORDERS), _consider_mapping),
)
