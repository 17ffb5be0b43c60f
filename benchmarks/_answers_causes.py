"""Causes of slowness on one node, per MPI library: slow settings, expert's settings, accepted remedies.

Commands use the options of the library itself. Each library has a *sound* command, as an expert writes it
for a program without special needs; a cause replaces one part of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from benchmarks._answers_score import Remedy

MPIS = ("mpich-5", "openmpi-5", "openmpi-4")  # beginnings of labels
MPICH, OPENMPI5, OPENMPI4 = MPIS


@dataclass(frozen=True)
class Words:
    """Part of a launch line: options of the launcher, and environment."""

    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def __add__(self, other: "Words") -> "Words":
        return Words((*self.options, *other.options), {**self.environment, **other.environment})


@dataclass(frozen=True)
class Cause:
    """A reason why a program is slow: its settings, and the settings of an expert."""

    part: str  # replaced part of the sound command; "" if the settings are added to it
    slow: Words
    best: Words
    remedy: Remedy


def _mca(**parameters: str) -> dict[str, str]:
    return {f"OMPI_MCA_{name}": value for name, value in parameters.items()}


def _own_shared_memory(component: str) -> Words:
    return Words(("--mca", "pml", "ob1", "--mca", "btl", f"self,{component}"))


_OWN = {OPENMPI5: _own_shared_memory("sm"), OPENMPI4: _own_shared_memory("vader")}
_CORE = Words(("-bind-to", "core"))
SOUND: Mapping[str, Mapping[str, Words]] = {
    MPICH: {"binding": _CORE},
    OPENMPI5: {"transport": _OWN[OPENMPI5]},
    OPENMPI4: {"transport": _OWN[OPENMPI4]},
}
_NONE = Words()


def command(mpi: str, causes: Iterable[tuple[Cause, bool]]) -> Words:
    """Return the sound command with some causes; each flag says whether the cause is cured."""
    parts = dict(SOUND[mpi])
    extra = Words()
    for cause, cured in causes:
        arguments = cause.best if cured else cause.slow
        if cause.part in parts:
            parts[cause.part] = arguments
        else:
            extra += arguments
    return sum(parts.values(), Words()) + extra


def cause_of(name: str, mpi: str) -> Cause | None:
    """Return a cause under a library; None if it does not exist there."""
    return _CAUSES[name].get(mpi)


def causes() -> tuple[str, ...]:
    """Return the names of all causes."""
    return tuple(_CAUSES)


def _memory(name: str, *other_cures: str) -> dict[str, Cause]:
    """Freed blocks return to the kernel; ``other_cures`` keep them too, as the page faults show."""
    cures = ("malloc=keep-memory|keep-memory-padded", *other_cures)
    # The first touch of a block costs page faults even if it is kept; huge pages save them.
    remedy = Remedy(name, cures, along=("huge-pages",))
    best = Words(environment={"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "536870912"})
    return {mpi: Cause("", _NONE, best, remedy) for mpi in MPIS}


def _pages() -> dict[str, Cause]:
    remedy = Remedy("pages", ("huge-pages=transparent",))
    best = Words(environment={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"})
    return {mpi: Cause("", _NONE, best, remedy) for mpi in MPIS}


def _unbound() -> dict[str, Cause]:
    remedy = Remedy("unbound", ("binding=core",))
    free = Words(("--bind-to", "none"))
    return {
        MPICH: Cause("binding", _NONE, _CORE, remedy),
        **{mpi: Cause("binding", free, _NONE, remedy) for mpi in (OPENMPI5, OPENMPI4)},
    }


def _crowded() -> dict[str, Cause]:
    """More ranks than CPUs."""
    remedy = Remedy("waiting", ("waiting=yield|sleep",), along=("binding",))
    # Open MPI yields by itself when it knows that cores are oversubscribed. Only version 4 can be set not to.
    crowd = Words(("--oversubscribe",), _mca(mpi_yield_when_idle="0"))
    free = Words(("--oversubscribe", "--bind-to", "none"), _mca(mpi_yield_when_idle="1"))
    shared = ("ALLREDUCE", "BARRIER", "BCAST", "REDUCE")
    messages = {f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM": "mpir" for name in shared}
    yields = Words(environment={**messages, "MPIR_CVAR_POLLS_BEFORE_YIELD": "10"})
    return {
        MPICH: Cause("binding", _NONE, yields, remedy),
        OPENMPI4: Cause("binding", crowd, free, remedy),
    }


def _loopback() -> dict[str, Cause]:
    """Shared memory switched off from outside."""
    cure = "node-transport=shared-memory|shared-memory-only"
    away = Words(environment={"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"})
    tcp = Words(("--mca", "pml", "ob1", "--mca", "btl", "tcp,self"))
    return {
        MPICH: Cause("transport", away, _NONE, Remedy("loopback", (cure,))),
        **{mpi: Cause("transport", tcp, _OWN[mpi], Remedy("loopback", (cure,))) for mpi in _OWN},
    }


def _late_receiver() -> dict[str, Cause]:
    """Messages of 32 KiB that wait for a receiver which computes."""
    remedy = Remedy("eager", ("eager-node=64KiB|256KiB",), along=("single-copy-threshold", "node-buffers"))
    cells = {
        "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE": "69632",
        "MPIR_CVAR_CH4_PACK_BUFFER_SIZE": "69632",
        "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD": "65536",
    }

    def larger(component: str) -> Words:
        sizes = {"eager_limit": "65536", "rndv_eager_limit": "65536", "max_send_size": "65536"}
        parameters = {f"btl_{component}_{name}": value for name, value in sizes.items()}
        return Words(environment=_mca(**parameters, **{f"btl_{component}_segment_size": str(32 << 20)}))

    return {
        MPICH: Cause("", _NONE, Words(environment=cells), remedy),
        OPENMPI5: Cause("", _NONE, larger("sm"), remedy),
        OPENMPI4: Cause("", _NONE, larger("vader"), remedy),
    }


def _two_copies() -> dict[str, Cause]:
    """Variables that disable copies by the kernel."""
    off = Words(environment=_mca(btl_vader_single_copy_mechanism="none"))
    return {OPENMPI4: Cause("", off, _NONE, Remedy("single copy", ("single-copy=cma",)))}


def _segments() -> dict[str, Cause]:
    """Variables that force a broadcast into segments of 1 KiB."""
    learned = "collectives=online|policy|exported"
    small = {
        "MPIR_CVAR_BCAST_INTRA_ALGORITHM": "pipelined_tree",
        "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE": "0",
        "MPIR_CVAR_BCAST_TREE_PIPELINE_CHUNK_SIZE": "1024",
    }
    any_other = "binomial|scatter_recursive_doubling_allgather|scatter_ring_allgather|smp|shared_memory"
    pipeline = {
        "coll_tuned_use_dynamic_rules": "1",
        "coll_tuned_bcast_algorithm": "3",
        "coll_tuned_bcast_algorithm_segmentsize": "1024",
    }
    unsegmented = Remedy("bcast", ("bcast-algorithm=scatter_allgather|scatter_allgather_ring", learned))
    forced = Words(environment=_mca(**pipeline))
    return {
        MPICH: Cause(
            "", Words(environment=small), _NONE, Remedy("bcast", (f"bcast-algorithm={any_other}", learned))
        ),
        **{mpi: Cause("", forced, _NONE, unsegmented) for mpi in _OWN},
    }


def _bruck() -> dict[str, Cause]:
    """Variables that force the algorithm for small blocks on an all-to-all of large blocks."""
    learned = "collectives=online|policy|exported"
    bruck = {"MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM": "brucks", "MPIR_CVAR_ALLTOALL_DEVICE_COLLECTIVE": "0"}
    forced = Words(environment=_mca(coll_tuned_use_dynamic_rules="1", coll_tuned_alltoall_algorithm="3"))
    cures = ("alltoall-algorithm=pairwise|scattered|linear|linear_sync", learned)
    remedy = Remedy("alltoall", cures)
    return {
        MPICH: Cause("", Words(environment=bruck), _NONE, remedy),
        **{mpi: Cause("", forced, _NONE, remedy) for mpi in _OWN},
    }


def _threads() -> dict[str, Cause]:
    """More threads than CPUs."""
    remedy = Remedy("threads", ("omp-threads=1",))
    many, fitting = Words(environment={"OMP_NUM_THREADS": "4"}), Words(environment={"OMP_NUM_THREADS": "1"})
    return {mpi: Cause("", many, fitting, remedy) for mpi in MPIS}


def _start() -> dict[str, Cause]:
    """Networks that are set up and never used."""
    cures = ("node-transport=shared-memory-only", "network-library=own")
    return {mpi: Cause("transport", _NONE, _OWN[mpi], Remedy("start", cures)) for mpi in _OWN}


_CAUSES: Mapping[str, Mapping[str, Cause]] = {
    "memory": _memory("memory", "allocator=tcmalloc"),
    "small blocks": _memory("small blocks", "allocator=jemalloc|mimalloc|tcmalloc", "huge-pages=transparent"),
    "pages": _pages(),
    "unbound": _unbound(),
    "waiting": _crowded(),
    "loopback": _loopback(),
    "eager": _late_receiver(),
    "single copy": _two_copies(),
    "bcast": _segments(),
    "alltoall": _bruck(),
    "threads": _threads(),
    "start": _start(),
}
