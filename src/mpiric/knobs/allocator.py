"""Memory allocator: settings of glibc's allocator, or a replacement."""

from collections.abc import Mapping

from mpiric.knobs._declaration import knob
from mpiric.model.amount import share
from mpiric.model.job import Spelling
from mpiric.model.knob import Choice, Skip, Try
from mpiric.model.situation import NO_C_LIBRARY, Situation

# A rank with more faults per second spends several per cent of its time on them:
# a fault of a 4 KiB page costs about 0.25 µs on bare metal and up to 1 µs in a virtual machine.
_MANY_FAULTS_PER_S = 20_000.0
_KEEP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "536870912"}
_ALLOCATORS = ("jemalloc", "mimalloc", "tcmalloc")

_GLIBC_SETTINGS: dict[str, Spelling] = {
    "keep-memory": Spelling(
        environment=_KEEP, note="freed memory stays with the process: its resident size may grow"
    ),
    "keep-memory-padded": Spelling(
        environment={**_KEEP, "MALLOC_TOP_PAD_": "67108864"},
        note="the heap grows by 64 MiB at a time and is kept: the resident size may grow",
    ),
    "one-arena": Spelling(
        environment={"MALLOC_ARENA_MAX": "1"},
        note="threads share one heap: less memory, more waiting when they allocate at once",
    ),
    "large-cache": Spelling(
        tunables={"glibc.malloc.tcache_max": "65536", "glibc.malloc.tcache_count": "64"},
        note="each thread keeps up to 64 freed blocks of every size up to 64 KiB",
    ),
}


def faults_much(situation: Situation) -> bool:
    """Return whether page faults are expensive: many of them, or much time in the kernel because of them."""
    observation = situation.observation
    faults, in_kernel = observation.minor_faults_per_s, observation.kernel_share
    return faults > _MANY_FAULTS_PER_S or (faults > 2_000.0 and in_kernel > 0.15)


def _own_allocator(situation: Situation) -> str:
    has_allocator = any(situation.observation.loads(f"lib{name}") for name in _ALLOCATORS)
    return "the program brings an allocator of its own" if has_allocator else ""


def beside_another_allocator(values: Mapping[str, str], _situation: Situation) -> bool:
    """Return whether another allocator replaces glibc's, so that settings of the latter have no effect."""
    return "allocator" in values


def _consider_malloc(situation: Situation) -> Skip | Try:
    observation = situation.observation
    if not situation.glibc_version:
        return Skip("the C library is not glibc")
    if observation.ranks and not observation.is_dynamic:
        return Skip(NO_C_LIBRARY)
    if reason := _own_allocator(situation):
        return Skip(reason)
    values = ["keep-memory"] if situation.in_force("MALLOC_MMAP_MAX_") != "0" else []
    values.append("keep-memory-padded")
    if situation.is_hybrid:
        values.append("one-arena")
    if situation.glibc_version >= (2, 26):
        values.append("large-cache")
    if not faults_much(situation):
        return Try(tuple(values), 0.15, "few page faults: memory is not returned to the kernel")
    because = (
        f"{observation.minor_faults_per_s:,.0f} page faults a second and rank, "
        f"{share(observation.kernel_share)} of the time in the kernel"
    )
    return Try(tuple(values), 0.85, because, ("keep-memory",))


def _consider_allocator(situation: Situation) -> Skip | Try:
    installed = {name for name, _ in situation.machine.preloads}
    values = tuple(name for name in _ALLOCATORS if name in installed)
    if not values:
        return Skip("no jemalloc, mimalloc or tcmalloc is installed")
    if reason := situation.no_preload or _own_allocator(situation):
        return Skip(reason)
    if faults_much(situation):
        because = "memory is returned to the kernel and requested again: another allocator may keep it"
        return Try(values, 0.6, because, _ALLOCATORS)
    if situation.is_hybrid:
        return Try(values, 0.3, "threads that allocate at once wait for glibc's arenas")
    bound = situation.number("allocator_bound")
    if 0 < bound < 1:
        because = f"glibc's allocator may take {share(bound)} of a rank's time"
        return Try(values, 0.2 + min(0.4, bound / 2), because)
    return Try(values, 0.2, "the program allocates with glibc; how much is unknown")


def _set_allocator(value: str, situation: Situation) -> Spelling | None:
    path = dict(situation.machine.preloads).get(value)
    if not path or not situation.observation.is_dynamic:
        return None
    return Spelling(preload=(path,), note=f"{value} replaces the malloc of glibc")


KNOBS = (
    knob(
        "malloc",
        Choice(tuple(_GLIBC_SETTINGS)),
        _consider_malloc,
        settings=lambda value, situation: _GLIBC_SETTINGS[value] if situation.glibc_version else None,
        idle_beside=beside_another_allocator,
    ),
    knob("allocator", Choice(_ALLOCATORS), _consider_allocator, settings=_set_allocator),
)
