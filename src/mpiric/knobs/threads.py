"""Threads of hybrid programs, and the division of the machine into ranks and threads."""

from collections.abc import Mapping

from mpiric.knobs._declaration import knob
from mpiric.model.job import Spelling
from mpiric.model.knob import Choice, Count, ResultsEffect, Skip, Try, by_value, plain
from mpiric.model.situation import Situation

_COUNTS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NCPUS",  # OpenMP runtimes of NVIDIA (PGI) and SGI
)
_WAITS = {
    "active": {"OMP_WAIT_POLICY": "ACTIVE", "GOMP_SPINCOUNT": "infinity", "KMP_BLOCKTIME": "infinite"},
    "passive": {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"},
}


def _consider_count(situation: Situation) -> Skip | Try:
    if not situation.is_threaded:
        return Skip("the ranks load no OpenMP runtime and no threaded math library")
    threads, share = situation.threads_per_rank, situation.cpus_per_rank
    ranks, cpus = situation.ranks_per_node, situation.cpus_per_node
    observed_ranks, is_requested = situation.observation.ranks, situation.in_force("OMP_NUM_THREADS")
    in_use = {str(threads)} if observed_ranks else set()
    if observed_ranks and not is_requested and all(len(rank.cpus_allowed) == 1 for rank in observed_ranks):
        in_use.add("1")  # OpenMP runtimes start a thread for each CPU that the rank may use
    worth = map(str, dict.fromkeys((share, max(1, share // 2), 1)))
    values = tuple(count for count in worth if count not in in_use)
    if threads * ranks > cpus:
        because = f"{ranks} ranks × {threads} threads on {cpus} CPUs"
        prior = 0.6 if is_requested is None else 0.9  # threads that were only observed may be sleeping
        return Try(values, prior, because, (str(share),))
    if threads < share:
        return Try(values, 0.5, f"{threads} threads a rank, {share} CPUs for each", (str(share),))
    return Try(values, 0.15, "threads fill the CPUs of their rank; fewer may do as well")


def _count_brings(value: str, situation: Situation) -> Mapping[str, str]:
    """Give ranks as many CPUs as threads; additional threads of a bound rank would share its CPUs."""
    if int(value) == 1:
        return {}
    if int(value) * situation.ranks_per_node <= situation.cpus_per_node:
        return {"threads-per-rank": value}
    narrow = any(len(rank.cpus_allowed) < int(value) for rank in situation.observation.ranks)
    return {"binding": "none"} if narrow else {}


def _consider_width(situation: Situation) -> Skip | Try:
    share = situation.cpus_per_rank
    if not situation.is_threaded:
        return Skip("the ranks run one thread each")
    if share < 2:
        return Skip("there is one CPU for each rank")
    values = tuple(str(count) for count in dict.fromkeys((share, share // 2)) if count > 1)
    threads = situation.threads_per_rank
    if any(len(rank.cpus_allowed) < threads for rank in situation.observation.ranks):
        return Try(values, 0.95, "several threads of a rank share the one CPU it is bound to", (str(share),))
    return Try(values, 0.4, "ranks with threads and CPUs of their own do not disturb each other")


def _own_cpus(situation: Situation) -> bool:
    """Return whether no two ranks share a CPU; otherwise the places of all ranks start at the same core."""
    if situation.ranks_per_node == 1:
        return True
    if situation.nodes > 1 or not situation.observation.ranks:
        return False
    sets = [set(rank.cpus_allowed) for rank in situation.observation.ranks]
    return sum(map(len, sets)) == len(set().union(*sets))


def _single_thread(situation: Situation) -> bool:
    return situation.threads_per_rank < 2 and situation.cpus_per_rank < 2


def _not_placed(situation: Situation) -> str:
    """Return why threads are not bound one by one, "" if they can be."""
    if not situation.is_hybrid:
        return "the ranks load no OpenMP runtime"
    if _single_thread(situation):
        return "one thread per rank shares no CPU with other threads"
    has_own_cpus = _own_cpus(situation)
    return "" if has_own_cpus else "ranks share CPUs: the threads of all would be put on the same cores"


def _consider_places(situation: Situation) -> Skip | Try:
    if reason := _not_placed(situation):
        return Skip(reason)
    topology = situation.machine.topology
    fits = (("cores", True), ("threads", topology.has_smt), ("sockets", len(topology.packages) > 1))
    values = tuple(unit for unit, possible in fits if possible)
    return Try(values, 0.4, "threads are placed by the kernel unless they are bound")


def _consider_bind(situation: Situation) -> Skip | Try:
    if reason := _not_placed(situation):
        return Skip(reason)
    return Try(("close", "spread", "false"), 0.35, "threads of a rank share what the rank is bound to")


def _consider_wait(situation: Situation) -> Skip | Try:
    if not situation.is_hybrid:
        return Skip("no OpenMP runtime is loaded")
    if _single_thread(situation):
        return Skip("one thread per rank waits for no other thread")
    if situation.threads_per_rank * situation.ranks_per_node > situation.cpus_per_node:
        because = "more threads than CPUs: spinning ones keep others from working"
        return Try(tuple(_WAITS), 0.8, because, ("passive",))
    return Try(tuple(_WAITS), 0.2, "between parallel regions threads spin for a while, then sleep")


def _beside_one_thread(values: Mapping[str, str], _situation: Situation) -> bool:
    """Return whether ranks have one thread, so that bindings and waiting of threads have no effect."""
    return values.get("omp-threads") == "1"


def _consider_ranks(situation: Situation) -> Skip | Try:
    if len(situation.job.segments) > 1:
        return Skip("several programs in one launch")
    now, all_cpus = situation.rank_count, situation.cpus_per_node * max(1, situation.nodes)
    worth = dict.fromkeys((all_cpus, now // 2, now * 2, all_cpus // 2))
    values = tuple(str(count) for count in worth if 1 <= count <= all_cpus and count != now)
    return Try(values, 0.5, "ranks and threads can be traded for one another")


def _ranks_brings(value: str, situation: Situation) -> Mapping[str, str]:
    """Adjust the number of threads to the number of CPUs per rank."""
    if not situation.is_threaded:
        return {}
    per_node = -(-int(value) // max(1, situation.nodes))
    return {"omp-threads": str(max(1, situation.cpus_per_node // per_node))}


def _consider_nodes(situation: Situation) -> Skip | Try:
    if situation.nodes < 2:
        return Skip("the job has one node")
    worth = dict.fromkeys((situation.nodes // 2, situation.nodes // 4))
    values = tuple(str(count) for count in worth if count >= 1)
    return Try(values, 0.3, "communication may cost more than additional nodes gain")


KNOBS = (
    knob(
        "omp-threads",
        Count(1, 4096),
        _consider_count,
        results=ResultsEffect.CHECKED,
        brings=_count_brings,
        settings=plain(*_COUNTS),
    ),
    knob("threads-per-rank", Count(1, 4096), _consider_width),
    knob(
        "omp-places",
        Choice(("cores", "threads", "sockets")),
        _consider_places,
        brings=lambda _value, _situation: {"omp-bind": "close"},
        settings=plain("OMP_PLACES"),
        idle_beside=_beside_one_thread,
    ),
    knob(
        "omp-bind",
        Choice(("close", "spread", "false")),
        _consider_bind,
        settings=plain("OMP_PROC_BIND"),
        idle_beside=_beside_one_thread,
    ),
    knob(
        "omp-wait",
        Choice(tuple(_WAITS)),
        _consider_wait,
        settings=by_value(_WAITS),
        idle_beside=_beside_one_thread,
    ),
    knob(
        "ranks",
        Count(1, 1 << 24),
        _consider_ranks,
        results=ResultsEffect.ROUNDING,
        only_when_asked="--vary-ranks",
        brings=_ranks_brings,
        settings=lambda value, _: Spelling(ranks=int(value)),
    ),
    knob("nodes", Count(1, 1 << 20), _consider_nodes, only_when_asked="--vary-nodes"),
)
