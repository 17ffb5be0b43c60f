"""The memory allocator: how glibc's returns memory to the kernel, or another one in its place."""

from collections.abc import Mapping

from mpiric.knobs._declare import no, yes
from mpiric.knobs._reading import (
    NO_C_LIBRARY,
    glibc_version,
    in_force,
    is_dynamic,
    is_hybrid,
    unreachable_by_preload,
)
from mpiric.model.knob import Applicability, Choice, Knob, Promise
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

# A rank that faults more often than this in a second spends several per cent of its time on it:
# a fault of a 4 KiB page costs about 0.25 µs bare metal and up to 1 µs virtualised.
_MANY_FAULTS_PER_S = 20_000.0
_KEEP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "536870912"}
_CEILING = ("allocator_bound", "fault_bound")
_SYMPTOMS = ("minor_faults_per_s", "allocator_share", "system_share")
_ALLOCATORS = ("jemalloc", "mimalloc", "tcmalloc")

_GLIBC_SETTINGS: dict[str, Spelling] = {
    "keep-memory": Spelling(
        environment=_KEEP,
        note="freed memory stays with the process: its resident size may grow",
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
    """Whether page faults are a cost worth attacking: many of them, or much time in the kernel with them."""
    observation = situation.observation
    faults, in_kernel = observation.minor_faults_per_s, observation.kernel_share
    return faults > _MANY_FAULTS_PER_S or (faults > 2_000.0 and in_kernel > 0.15)


def _brings_its_own(situation: Situation) -> str:
    own = any(situation.observation.loads(f"lib{name}") for name in _ALLOCATORS)
    return "the program brings an allocator of its own" if own else ""


def _malloc_values(situation: Situation) -> tuple[str, ...]:
    fitting = ["keep-memory", "keep-memory-padded"]
    if is_hybrid(situation):
        fitting.append("one-arena")
    if glibc_version(situation) >= (2, 26):
        fitting.append("large-cache")
    already = in_force(situation, "MALLOC_MMAP_MAX_") == "0"
    return tuple(value for value in fitting if not (already and value == "keep-memory"))


def _malloc_applies(situation: Situation) -> Applicability:
    if not glibc_version(situation):
        return no("the C library is not glibc")
    if situation.observation.ranks and not is_dynamic(situation):
        return no(NO_C_LIBRARY)
    if reason := _brings_its_own(situation):
        return no(reason)
    return yes("the program allocates with glibc")


def _malloc_promise(situation: Situation) -> Promise:
    observation = situation.observation
    if faults_much(situation):
        because = (
            f"{observation.minor_faults_per_s:,.0f} page faults a second and rank, "
            f"{observation.kernel_share:.0%} of the time in the kernel"
        )
        return Promise(0.85, because, ("keep-memory",))
    return Promise(0.15, "few page faults: memory is not handed back and forth")


def _spell_malloc(value: str, situation: Situation) -> Spelling | None:
    return _GLIBC_SETTINGS[value] if glibc_version(situation) else None


def beside_another_allocator(values: Mapping[str, str], _situation: Situation) -> bool:
    """Whether glibc's allocator, which a setting is for, answers no call."""
    return "allocator" in values


def _allocator_values(situation: Situation) -> tuple[str, ...]:
    found = {name for name, _ in situation.machine.preloads}
    return tuple(name for name in _ALLOCATORS if name in found)


def _allocator_applies(situation: Situation) -> Applicability:
    if not _allocator_values(situation):
        return no("no jemalloc, mimalloc or tcmalloc is installed")
    if reason := unreachable_by_preload(situation) or _brings_its_own(situation):
        return no(reason)
    return yes("another allocator is installed and the program is dynamically linked")


def _allocator_promise(situation: Situation) -> Promise:
    if faults_much(situation):
        return Promise(0.6, "memory is handed back and forth: another allocator may keep it", _ALLOCATORS)
    if is_hybrid(situation):
        return Promise(0.3, "threads that allocate at once wait for glibc's arenas")
    behaviour = situation.observation.behaviour
    bound = behaviour.numbers.get("allocator_bound", 0.0) if behaviour else 0.0
    if 0 < bound < 1:
        return Promise(0.2 + min(0.4, bound / 2), f"glibc's allocator may take {bound:.0%} of a rank's time")
    return Promise(0.2, "the program allocates with glibc; how much is unknown")


def _spell_allocator(value: str, situation: Situation) -> Spelling | None:
    if not is_dynamic(situation):
        return None
    path = dict(situation.machine.preloads).get(value)
    return Spelling(preload=(path,), note=f"{value} answers malloc instead of glibc") if path else None


KNOBS = (
    Knob(
        name="malloc",
        sentence="How glibc's allocator hands memory back to the kernel and shares it between threads",
        why=(
            "Blocks above 128 KiB (the threshold moves up to 32 MiB) are mapped afresh and given back at "
            "each "
            "free: every page of a temporary array faults again in each step"
        ),
        source=(
            "measured: loops that allocate, touch and free run 3-7× faster with MALLOC_MMAP_MAX_=0 "
            "MALLOC_TRIM_THRESHOLD_=536870912; mallopt(3), glibc manual 'Memory Allocation Tunables'"
        ),
        domain=Choice(tuple(_GLIBC_SETTINGS)),
        values=_malloc_values,
        applies=_malloc_applies,
        promise=_malloc_promise,
        spell=_spell_malloc,
        idle_beside=beside_another_allocator,
        ceiling=_CEILING,
        symptoms=("large_allocations_per_s", *_SYMPTOMS),
    ),
    Knob(
        name="allocator",
        sentence="Another memory allocator in place of glibc's, preloaded",
        why="They keep freed memory longer, waste less of it and let threads allocate without waiting",
        source="jemalloc(3), the mimalloc and gperftools manuals (preloading)",
        domain=Choice(_ALLOCATORS),
        values=_allocator_values,
        applies=_allocator_applies,
        promise=_allocator_promise,
        spell=_spell_allocator,
        ceiling=_CEILING,
        symptoms=("allocations_per_s", *_SYMPTOMS),
    ),
)
