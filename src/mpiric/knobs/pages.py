"""The size of the pages that memory comes in."""

from mpiric.knobs._declare import no, yes
from mpiric.knobs._reading import NO_C_LIBRARY, glibc_version, in_force, is_dynamic
from mpiric.knobs.allocator import beside_another_allocator, faults_much
from mpiric.model.knob import Applicability, Choice, Knob, Promise
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

_TUNABLE = "glibc.malloc.hugetlb"
_BIG_BYTES = (
    256 << 20
)  # beyond what the second-level TLB of current CPUs covers with 4 KiB pages, many times over

_SETTINGS = {
    "transparent": Spelling(
        tunables={_TUNABLE: "1"},
        note="the allocator requests transparent huge pages: sparse memory may take more of it",
    ),
    "reserved": Spelling(
        tunables={_TUNABLE: "2"},
        note="malloc takes reserved huge pages; when they run out it goes on with ordinary ones",
    ),
}


def _values(situation: Situation) -> tuple[str, ...]:
    pages = situation.machine.memory.pages
    inherited = in_force(situation, "GLIBC_TUNABLES") or ""
    fitting = []
    if pages.transparent == "madvise" and f"{_TUNABLE}=1" not in inherited:
        fitting.append("transparent")
    needed = situation.observation.rss_peak_bytes * max(1, len(situation.observation.ranks))
    if pages.huge_free * pages.huge_size_bytes >= max(needed, 1) and f"{_TUNABLE}=2" not in inherited:
        fitting.append("reserved")
    return tuple(fitting)


def _applies(situation: Situation) -> Applicability:
    pages = situation.machine.memory.pages
    if glibc_version(situation) < (2, 35):
        return no("the C library is not glibc 2.35 or later")
    if situation.observation.ranks and not is_dynamic(situation):
        return no(NO_C_LIBRARY)
    if pages.transparent == "always" and not pages.huge_free:
        return no("the kernel hands out huge pages by itself and none are reserved")
    if pages.transparent in ("never", "") and not pages.huge_free:
        return no("the kernel has transparent huge pages switched off and none are reserved")
    return yes("huge pages can be had for the asking")


def _promise(situation: Situation) -> Promise:
    observation = situation.observation
    if faults_much(situation):
        because = f"{observation.minor_faults_per_s:,.0f} page faults a second and rank"
        return Promise(0.8, because, ("transparent",))
    if observation.rss_peak_bytes > _BIG_BYTES:
        because = (
            f"a rank holds {observation.rss_peak_bytes / 2**20:,.0f} MiB: scattered access misses the TLB"
        )
        return Promise(0.6, because, ("transparent",))
    return Promise(0.1, "little memory and few page faults")


def _spell(value: str, situation: Situation) -> Spelling | None:
    return _SETTINGS[value] if glibc_version(situation) >= (2, 35) else None


KNOBS = (
    Knob(
        name="huge-pages",
        sentence="Whether malloc requests huge pages, transparent or reserved ones",
        why="A huge page covers 512 ordinary ones: fewer faults on first touch, fewer TLB misses after",
        source=(
            "measured: loops that allocate and touch 2-5× faster, random access over 1-1.5 GB 1.4×; glibc "
            "manual, "
            "'Memory Allocation Tunables', glibc.malloc.hugetlb (since 2.35); with none reserved, 2 does "
            "nothing"
        ),
        domain=Choice(tuple(_SETTINGS)),
        values=_values,
        applies=_applies,
        promise=_promise,
        spell=_spell,
        idle_beside=beside_another_allocator,
        matters_when=("peak_bytes >= 16777216 or minor_faults_per_s >= 1000",),
        ceiling=("own_bound", "fault_bound"),
        symptoms=("minor_faults_per_s", "system_share", "huge_share"),
    ),
)
