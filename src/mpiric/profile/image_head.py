"""Head of one rank's image, and limits of records."""

from mpiric.model.dataclass import dataclass

# Names of the usage numbers of the head: facts in version 1, numbers since; the allocator's are facts before
# version 5.
USAGE = (
    "time.user_us",
    "time.system_us",
    "faults.minor",
    "faults.major",
    "switches.voluntary",
    "switches.involuntary",
    "memory.peak_kib",
    "allocator.calls",
    "allocator.large_calls",
    "allocator.us",
)
UNKNOWN = (1 << 64) - 1

# Upper limits: larger numbers mean damage and must not be allocated.
MOST_RANKS = 1 << 24
MOST_IMAGE_BYTES, MOST_NAMES_BYTES = 1 << 24, 1 << 20


@dataclass(frozen=True, slots=True)
class ImageHead:
    """Head of an image."""

    version: int
    bytes: int
    world_rank: int
    world_size: int
    state: int
    thread_level: int
    job: int
    begin_unix_ns: int
    begin_ticks: int
    begin_ns: int
    latest_ticks: int
    latest_ns: int
    receives: tuple[int, int, int, int]
    span_ticks: int
    usage: tuple[int, ...]  # values of `USAGE`; empty in version 1, where they are facts
    latest: tuple[int, ...]  # left_ticks, polled_ticks and polled; empty before version 6
    sections: dict[str, tuple[int, int, int]]  # section → (offset, entries, lost entries)
