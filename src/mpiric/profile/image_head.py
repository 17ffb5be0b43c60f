"""Head of one rank's image as the reader has it, and what bounds a record."""

from dataclasses import dataclass

# The head's usage by name: facts of version 1, numbers since; the allocator's are facts until version 4.
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

# No program has more ranks, and no runtime writes more; what is above is damage, and must not become memory.
MOST_RANKS = 1 << 24
MOST_IMAGE_BYTES, MOST_NAMES_BYTES = 1 << 24, 1 << 20


@dataclass(frozen=True, slots=True)
class ImageHead:
    """Head of one rank's image."""

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
    usage: tuple[int, ...]  # `USAGE`, empty in version 1, which has it among the facts
    sections: dict[str, tuple[int, int, int]]  # offset, entries, lost
