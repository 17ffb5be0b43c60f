"""Algorithm that an MPI library chooses for a collective call, by the thresholds in its source.

MPICH: src/mpi/coll and the variables MPIR_CVAR_*_MSG_SIZE; Open MPI: coll_tuned_decision_fixed.c, with the
thresholds of commutative operations. Intel MPI and other derivatives are assumed to choose as MPICH does.
"""

from collections.abc import Callable

from mpiric.mapping.collectives.call_traffic import is_power_of_two

WITHIN_NODES = "within_nodes"  # first on each node, then between nodes; adapts to the rank order

_KIB = 1024


def library_choice(family: str, collective: str, ranks: int, size: float) -> str:
    """Return the algorithm of a call in which a rank has ``size`` bytes (as recorded)."""
    rules = _OPENMPI if family == "openmpi" else _MPICH
    return rules[collective](ranks, size)


def _mpich_bcast(ranks: int, size: float) -> str:
    if size < 512 * _KIB or ranks < 8:
        return WITHIN_NODES
    return "scatter_ring_allgather"


def _mpich_allgather(ranks: int, size: float) -> str:
    total = size * ranks
    if total < 80 * _KIB and not is_power_of_two(ranks):
        return "brucks"
    return "recursive_doubling" if total < 512 * _KIB and is_power_of_two(ranks) else "ring"


def _mpich_alltoall(ranks: int, size: float) -> str:
    return "brucks" if size / ranks <= 256 and ranks >= 8 else "scattered"


def _openmpi_bcast(ranks: int, size: float) -> str:
    if size < 2048 or ranks < 4:
        return "binomial"
    return "split_binary_tree" if size < 370728 else "pipeline"


def _openmpi_allgather(ranks: int, size: float) -> str:
    if size * ranks < 50000:
        return "recursive_doubling" if is_power_of_two(ranks) else "bruck"
    return "ring" if ranks % 2 else "neighbor"


def _openmpi_alltoall(ranks: int, size: float) -> str:
    block = size / ranks
    return "bruck" if block < 200 and ranks > 12 else "linear" if block < 3000 else "pairwise"


Rule = Callable[[int, float], str]


def _always(name: str) -> Rule:
    return lambda _ranks, _size: name


_MPICH: dict[str, Rule] = {
    "allreduce": _always(WITHIN_NODES),
    "barrier": _always(WITHIN_NODES),
    "reduce": _always(WITHIN_NODES),
    "bcast": _mpich_bcast,
    "allgather": _mpich_allgather,
    "allgatherv": _mpich_allgather,
    "alltoall": _mpich_alltoall,
    "alltoallv": _always("scattered"),
    "alltoallw": _always("scattered"),
    "reduce_scatter": lambda _, size: "recursive_halving" if size < 512 * _KIB else "pairwise",
    "reduce_scatter_block": lambda _, size: "recursive_halving" if size < 512 * _KIB else "pairwise",
    "gather": _always("binomial"),
    "gatherv": _always("linear"),
    "scatter": _always("binomial"),
    "scatterv": _always("linear"),
    "scan": _always("recursive_doubling"),
    "exscan": _always("recursive_doubling"),
}
_OPENMPI: dict[str, Rule] = {
    "allreduce": lambda _, size: "recursive_doubling" if size < 10000 else "ring",
    "barrier": lambda ranks, _: "recursive_doubling" if is_power_of_two(ranks) else "bruck",
    "reduce": lambda _, size: "binomial" if size < 32 * _KIB else "pipeline",
    "bcast": _openmpi_bcast,
    "allgather": _openmpi_allgather,
    "allgatherv": _openmpi_allgather,
    "alltoall": _openmpi_alltoall,
    "alltoallv": _always("pairwise"),
    "alltoallw": _always("linear"),
    "reduce_scatter": lambda _, size: "recursive_halving" if size < 64 * _KIB else "ring",
    "reduce_scatter_block": lambda _, size: "recursive_halving" if size < 64 * _KIB else "basic_linear",
    "gather": lambda ranks, size: (
        "binomial" if ranks > 60 or (ranks > 10 and size < 1024) else "basic_linear"
    ),
    "gatherv": _always("basic_linear"),
    "scatter": lambda ranks, size: "binomial" if ranks > 10 and size < 300 else "basic_linear",
    "scatterv": _always("basic_linear"),
    "scan": _always("linear"),
    "exscan": _always("linear"),
}
