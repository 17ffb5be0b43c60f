"""The record's binary layout, as spec/formats/record.md has it: one struct per entry."""

from dataclasses import dataclass
from struct import Struct

VERSION = 2  # what the runtime writes; `LAYOUTS` are all that can be read
IMAGE_MAGIC = b"MPIRICI\n"
RECORD_MAGIC = b"MPIRICR\n"
TIME_BINS = 32

START = Struct("<8sI")  # of an image: magic and version
SECTION = Struct("<QIIII")
MERGED = Struct("<8sIIQQQQ")
ENTRY = Struct("<QQII")

CELL = Struct(f"<8Q{TIME_BINS}I")
COMMUNICATOR = Struct("<QIiiiI36s")
PEER = Struct("<iIQQ")
REGION = Struct("<QQQ40s")
FILE = Struct("<14QII128s")
SITE = Struct("<6Q")
SPAN = Struct("<6Q")


# Facts of version 1 that are numbers of the image's head since.
USAGE = (
    "time.user_us",
    "time.system_us",
    "faults.minor",
    "faults.major",
    "switches.voluntary",
    "switches.involuntary",
    "memory.peak_kib",
)


@dataclass(frozen=True, slots=True)
class Layout:
    """How an image of one version lies."""

    image: Struct
    strides: dict[str, int]  # bytes of an entry, in the order of the sections

    @property
    def sections(self) -> tuple[str, ...]:
        """Names of the sections in their order."""
        return tuple(self.strides)


_FIRST = {
    "cells": CELL.size,
    "communicators": COMMUNICATOR.size,
    "peers": PEER.size,
    "regions": REGION.size,
    "files": FILE.size,
    "sites": SITE.size,
    "names": 1,
    "facts": 1,
}
LAYOUTS = {
    1: Layout(Struct("<8sIIQiiIIQQQQQQQQQQ"), _FIRST),
    2: Layout(Struct("<8sIIQiiII18Q"), {**_FIRST, "spans": SPAN.size}),
}

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
