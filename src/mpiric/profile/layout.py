"""The record's binary layout, as spec/formats/record.md has it: one struct per entry."""

from dataclasses import dataclass
from struct import Struct

VERSION = 1
IMAGE_MAGIC = b"MPIRICI\n"
RECORD_MAGIC = b"MPIRICR\n"
SECTIONS = ("cells", "communicators", "peers", "regions", "files", "sites", "names", "facts")
TIME_BINS = 32

IMAGE = Struct("<8sIIQiiIIQQQQQQQQQQ")
SECTION = Struct("<QIIII")
MERGED = Struct("<8sIIQQQQ")
ENTRY = Struct("<QQII")

CELL = Struct(f"<8Q{TIME_BINS}I")
COMMUNICATOR = Struct("<QIiiiI36s")
PEER = Struct("<iIQQ")
REGION = Struct("<QQQ40s")
FILE = Struct("<14QII128s")
SITE = Struct("<6Q")

STRIDES = {
    "cells": CELL.size,
    "communicators": COMMUNICATOR.size,
    "peers": PEER.size,
    "regions": REGION.size,
    "files": FILE.size,
    "sites": SITE.size,
    "names": 1,
    "facts": 1,
}

# No program has more ranks; a number above it is damage, and must not become memory.
MOST_RANKS = 1 << 24


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
    sections: dict[str, tuple[int, int, int]]  # offset, entries, lost
