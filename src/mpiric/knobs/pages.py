"""Page sizes of the program's memory."""

from mpiric.knobs._declaration import knob
from mpiric.knobs.allocator import beside_another_allocator, faults_much
from mpiric.model.amount import size
from mpiric.model.job import Spelling
from mpiric.model.knob import Choice, Skip, Try
from mpiric.model.situation import NO_C_LIBRARY, Situation

_TUNABLE = "glibc.malloc.hugetlb"
_BIG_BYTES = 256 << 20  # far more than the second-level TLB of current CPUs covers with 4 KiB pages

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


def _consider(situation: Situation) -> Skip | Try:
    pages, observation = situation.machine.memory.pages, situation.observation
    if situation.glibc_version < (2, 35):
        return Skip("the C library is not glibc 2.35 or later")
    if observation.ranks and not observation.is_dynamic:
        return Skip(NO_C_LIBRARY)
    if pages.transparent == "always" and not pages.huge_free:
        return Skip("the kernel hands out huge pages by itself and none are reserved")
    if pages.transparent in ("never", "") and not pages.huge_free:
        return Skip("the kernel has transparent huge pages switched off and none are reserved")
    peak, faults = situation.shown("peak_bytes"), situation.shown("minor_faults_per_s")
    if peak < 16 << 20 and faults < 1000:
        return Skip(f"a rank holds {size(peak)} at most and takes {faults:,.0f} page faults a second")
    inherited = situation.in_force("GLIBC_TUNABLES") or ""
    values = []
    if pages.transparent == "madvise" and f"{_TUNABLE}=1" not in inherited:
        values.append("transparent")
    needed = observation.rss_peak_bytes * max(1, len(observation.ranks))
    if pages.huge_free * pages.huge_size_bytes >= max(needed, 1) and f"{_TUNABLE}=2" not in inherited:
        values.append("reserved")
    if faults_much(situation):
        because = f"{observation.minor_faults_per_s:,.0f} page faults a second and rank"
        return Try(tuple(values), 0.8, because, ("transparent",))
    if observation.rss_peak_bytes > _BIG_BYTES:
        because = (
            f"a rank holds {observation.rss_peak_bytes / 2**20:,.0f} MiB: scattered access misses the TLB"
        )
        return Try(tuple(values), 0.6, because, ("transparent",))
    return Try(tuple(values), 0.1, "little memory and few page faults")


def _set(value: str, situation: Situation) -> Spelling | None:
    return _SETTINGS[value] if situation.glibc_version >= (2, 35) else None


KNOBS = (
    knob(
        "huge-pages", Choice(tuple(_SETTINGS)), _consider, settings=_set, idle_beside=beside_another_allocator
    ),
)
