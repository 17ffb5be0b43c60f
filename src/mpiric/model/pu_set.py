"""Conversion of sets of hardware threads (PUs) from and to the syntax of Linux, hwloc and launchers."""

import re
from collections.abc import Iterable
from contextlib import suppress

from ClusterShell.RangeSet import RangeSet, RangeSetParseError

_RANGE = re.compile(r"\d{1,5}(-\d{1,5})?", re.ASCII)


def pu_list(pus: Iterable[int]) -> str:
    """Return the PUs as a list of ranges: {0, 1, 2, 8} → ``"0-2,8"``."""
    ranges = RangeSet()  # type: ignore[no-untyped-call]
    for pu in pus:
        ranges.add(pu)  # type: ignore[no-untyped-call]
    return str(ranges)


def parse_pu_list(text: str) -> tuple[int, ...]:
    """Parse ``"0-2,8"`` → (0, 1, 2, 8), ascending; other text and numbers from 100,000 on are ignored."""
    ranges = RangeSet()  # type: ignore[no-untyped-call]
    for part in text.split(","):
        if _RANGE.fullmatch(part.strip()):
            with suppress(RangeSetParseError):  # range whose end is less than its start
                ranges.update(RangeSet(part))  # type: ignore[no-untyped-call]
    return tuple(sorted({int(pu) for pu in ranges}))


def pu_mask(pus: Iterable[int]) -> str:
    """Return the PUs as one hexadecimal number of any width: {0, 4} → ``"0x11"``."""
    return hex(sum(1 << pu for pu in set(pus)))


def parse_pu_mask(text: str) -> tuple[int, ...]:
    """Parse a bitmap of hwloc: ``"0x0000000f,,0x1"`` → (0, 64, 65, 66, 67); 32-bit words, highest first."""
    pus: list[int] = []
    for position, word in enumerate(reversed(text.split(","))):
        value = int(word, 16) if word not in {"", "0xf...f"} else 0
        pus += [position * 32 + bit for bit in range(value.bit_length()) if value >> bit & 1]
    return tuple(pus)
