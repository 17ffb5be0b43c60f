"""Threads of hybrid programs, and the split of the machine into ranks and threads."""

from collections.abc import Mapping

from mpiric.knobs._declare import always, no, promising, yes
from mpiric.knobs._reading import (
    cpus_per_node,
    in_force,
    is_hybrid,
    is_threaded,
    rank_count,
    ranks_per_node,
    threads_per_rank,
)
from mpiric.model.knob import Applicability, Choice, Count, Knob, Promise, ResultsEffect
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling
from mpiric.model.spelling_forms import by_value, plain

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
_OPENMP = "OpenMP API specification, chapter 'Environment Variables'"


def _share(situation: Situation) -> int:
    """CPUs of a node for each of its ranks."""
    return max(1, cpus_per_node(situation) // ranks_per_node(situation))


def _count_values(situation: Situation) -> tuple[str, ...]:
    share = _share(situation)
    worth = dict.fromkeys((share, max(1, share // 2), 1))
    in_use = {str(threads_per_rank(situation))} if situation.observation.ranks else set()
    ranks = situation.observation.ranks
    if not in_force(situation, "OMP_NUM_THREADS") and ranks and all(len(r.cpus_allowed) == 1 for r in ranks):
        in_use.add("1")  # runtimes start a thread for each CPU that the rank may use
    return tuple(str(count) for count in worth if str(count) not in in_use)


def _count_applies(situation: Situation) -> Applicability:
    if not is_threaded(situation):
        return no("the ranks load no OpenMP runtime and no threaded math library")
    return yes("the ranks can run threads")


def _count_promise(situation: Situation) -> Promise:
    threads, share = threads_per_rank(situation), _share(situation)
    if threads * ranks_per_node(situation) > cpus_per_node(situation):
        because = f"{ranks_per_node(situation)} ranks × {threads} threads on {cpus_per_node(situation)} CPUs"
        is_requested = in_force(situation, "OMP_NUM_THREADS") is not None  # threads only seen may sleep
        return Promise(0.9 if is_requested else 0.6, because, (str(share),))
    if threads < share:
        return Promise(0.5, f"{threads} threads a rank, {share} CPUs for each", (str(share),))
    return Promise(0.15, "threads fill the CPUs of their rank; fewer may do as well")


def _count_brings(value: str, situation: Situation) -> Mapping[str, str]:
    """Threads beyond the CPUs their rank is bound to would sit on one another: the rank gets as many."""
    if int(value) == 1:
        return {}
    if int(value) * ranks_per_node(situation) <= cpus_per_node(situation):
        return {"threads-per-rank": value}
    narrow = any(len(rank.cpus_allowed) < int(value) for rank in situation.observation.ranks)
    return {"binding": "none"} if narrow else {}


def _width_values(situation: Situation) -> tuple[str, ...]:
    share = _share(situation)
    return tuple(str(count) for count in dict.fromkeys((share, share // 2)) if count > 1)


def _width_applies(situation: Situation) -> Applicability:
    if not is_threaded(situation):
        return no("the ranks run one thread each")
    if _share(situation) < 2:
        return no("there is one CPU for each rank")
    return yes("each rank can have several CPUs of its own")


def _width_promise(situation: Situation) -> Promise:
    threads = threads_per_rank(situation)
    narrow = any(len(rank.cpus_allowed) < threads for rank in situation.observation.ranks)
    if narrow:
        return Promise(
            0.95, "several threads of a rank share the one CPU it is bound to", (str(_share(situation)),)
        )
    return Promise(0.4, "ranks with threads and CPUs of their own do not disturb each other")


def _own_cpus(situation: Situation) -> bool:
    """Whether no two ranks may run on one CPU: else places of all ranks start at the same core."""
    if ranks_per_node(situation) == 1:
        return True
    if situation.nodes > 1 or not situation.observation.ranks:
        return False
    sets = [set(rank.cpus_allowed) for rank in situation.observation.ranks]
    return sum(map(len, sets)) == len(set().union(*sets))


def _placing_applies(situation: Situation) -> Applicability:
    if not is_hybrid(situation):
        return no("the ranks load no OpenMP runtime")
    if threads_per_rank(situation) < 2 and _share(situation) < 2:
        return no("one thread a rank needs no place among others")
    if not _own_cpus(situation):
        return no("ranks share CPUs: the threads of all would be put on the same cores")
    return yes("threads of a rank have CPUs of their own to be placed on")


def _places_values(situation: Situation) -> tuple[str, ...]:
    topology = situation.machine.topology
    fits = (("cores", True), ("threads", topology.has_smt), ("sockets", len(topology.packages) > 1))
    return tuple(unit for unit, possible in fits if possible)


def _wait_applies(situation: Situation) -> Applicability:
    if not is_hybrid(situation):
        return no("no OpenMP runtime is loaded")
    if threads_per_rank(situation) < 2 and _share(situation) < 2:
        return no("one thread a rank waits for no others")
    return yes("OpenMP threads wait at barriers")


def _beside_one_thread(values: Mapping[str, str], _situation: Situation) -> bool:
    """Whether there are no other threads to be placed beside, or to be waited for."""
    return values.get("omp-threads") == "1"


def _wait_promise(situation: Situation) -> Promise:
    if threads_per_rank(situation) * ranks_per_node(situation) > cpus_per_node(situation):
        return Promise(0.8, "more threads than CPUs: spinning ones keep others from working", ("passive",))
    return Promise(0.2, "between parallel regions threads spin for a while, then sleep")


def _one_program(situation: Situation) -> Applicability:
    if len(situation.job.segments) > 1:
        return no("several programs in one launch")
    return yes("the user allows another number")


def _ranks_values(situation: Situation) -> tuple[str, ...]:
    now, all_cpus = rank_count(situation), cpus_per_node(situation) * max(1, situation.nodes)
    worth = dict.fromkeys((all_cpus, now // 2, now * 2, all_cpus // 2))
    return tuple(str(count) for count in worth if 1 <= count <= all_cpus and count != now)


def _ranks_brings(value: str, situation: Situation) -> Mapping[str, str]:
    """The CPUs a rank gains or loses go to its threads."""
    if not is_threaded(situation):
        return {}
    per_node = -(-int(value) // max(1, situation.nodes))
    return {"omp-threads": str(max(1, cpus_per_node(situation) // per_node))}


def _nodes_values(situation: Situation) -> tuple[str, ...]:
    worth = dict.fromkeys((situation.nodes // 2, situation.nodes // 4))
    return tuple(str(count) for count in worth if count >= 1)


def _nodes_applies(situation: Situation) -> Applicability:
    return yes("fewer nodes may do") if situation.nodes > 1 else no("the job has one node")


KNOBS = (
    Knob(
        name="omp-threads",
        sentence="Threads of each rank, for OpenMP and the threaded math libraries",
        why="Left alone, every rank starts a thread for each CPU of the machine; too few leave CPUs idle",
        source=f"{_OPENMP}; MKL, OpenBLAS and BLIS user guides on threading",
        domain=Count(1, 4096),
        values=_count_values,
        applies=_count_applies,
        promise=_count_promise,
        results=ResultsEffect.CHECKED,
        brings=_count_brings,
        spell=plain(*_COUNTS),
        symptoms=("cpu_use", "involuntary_per_s"),
    ),
    Knob(
        name="threads-per-rank",
        sentence="The CPUs each rank is given for its threads",
        why="A rank bound to one core runs all its threads there, one after the other",
        source="mpirun(1) --map-by :PE=n, the Hydra manual -bind-to core:n, srun(1) --cpus-per-task",
        domain=Count(1, 4096),
        values=_width_values,
        applies=_width_applies,
        promise=_width_promise,
        symptoms=("cpu_use", "involuntary_per_s"),
    ),
    Knob(
        name="omp-places",
        sentence="What each OpenMP thread is bound to",
        why="A thread that stays keeps its caches and the memory it touched first",
        source=f"{_OPENMP}, OMP_PLACES",
        domain=Choice(("cores", "threads", "sockets")),
        values=_places_values,
        applies=_placing_applies,
        promise=promising(0.4, "threads are placed by the kernel unless they are bound"),
        brings=lambda _value, _situation: {"omp-bind": "close"},
        spell=plain("OMP_PLACES"),
        idle_beside=_beside_one_thread,
        symptoms=("cpu_use", "involuntary_per_s"),
    ),
    Knob(
        name="omp-bind",
        sentence="Whether OpenMP threads are bound close together, spread, or not at all",
        why="Close threads share caches; spread ones have more memory bandwidth each",
        source=f"{_OPENMP}, OMP_PROC_BIND",
        domain=Choice(("close", "spread", "false")),
        values=always("close", "spread", "false"),
        applies=_placing_applies,
        promise=promising(0.35, "threads of a rank share what the rank is bound to"),
        spell=plain("OMP_PROC_BIND"),
        idle_beside=_beside_one_thread,
        symptoms=("cpu_use", "involuntary_per_s"),
    ),
    Knob(
        name="omp-wait",
        sentence="Whether waiting OpenMP threads spin or sleep",
        why="Spinning threads answer at once; sleeping ones leave their CPU to others",
        source=f"{_OPENMP}, OMP_WAIT_POLICY; GOMP_SPINCOUNT in the libgomp manual, KMP_BLOCKTIME in Intel's",
        domain=Choice(tuple(_WAITS)),
        values=always(*_WAITS),
        applies=_wait_applies,
        promise=_wait_promise,
        spell=by_value(_WAITS),
        idle_beside=_beside_one_thread,
        symptoms=("cpu_use", "involuntary_per_s"),
    ),
    Knob(
        name="ranks",
        sentence="The number of ranks",
        why="The best split of the CPUs into ranks and threads depends on the program",
        source="measured by the search; the program decides whether another number is possible",
        domain=Count(1, 1 << 24),
        values=_ranks_values,
        applies=_one_program,
        promise=promising(0.5, "ranks and threads can be traded for one another"),
        results=ResultsEffect.ROUNDING,
        only_when_asked="--vary-ranks",
        brings=_ranks_brings,
        spell=lambda value, _: Spelling(ranks=int(value)),
        symptoms=("parallel_efficiency",),
    ),
    Knob(
        name="nodes",
        sentence="The number of nodes the ranks are spread over",
        why="Fewer nodes talk less over the network; more have more memory bandwidth",
        source="measured by the search",
        domain=Count(1, 1 << 20),
        values=_nodes_values,
        applies=_nodes_applies,
        promise=promising(0.3, "the network may cost more than the nodes bring"),
        only_when_asked="--vary-nodes",
        symptoms=("off_node_share", "mpi_share"),
    ),
)
