"""Sets of hardware threads (PUs) as Linux, hwloc, launchers and people write them."""

import re
from collections.abc import Iterable
from contextlib import suppress

from ClusterShell.RangeSet import RangeSet, RangeSetParseError

_RANGE = re.compile(r"\d{1,5}(-\d{1,5})?", re.ASCII)


def pu_list(pus: Iterable[int]) -> str:
    """{0, 1, 2, 8} → ``"0-2,8"``."""
    found = RangeSet()  # type: ignore[no-untyped-call]
    for pu in pus:
        found.add(pu)  # type: ignore[no-untyped-call]
    return str(found)


def parse_pu_list(text: str) -> tuple[int, ...]:
    """``"0-2,8"`` → (0, 1, 2, 8), ascending; what is no number or range below 100,000 is left out."""
    found = RangeSet()  # type: ignore[no-untyped-call]
    for part in text.split(","):
        if _RANGE.fullmatch(part.strip()):
            with suppress(RangeSetParseError):  # a range that ends before it begins
                found.update(RangeSet(part))  # type: ignore[no-untyped-call]
    return tuple(sorted({int(pu) for pu in found}))


def pu_mask(pus: Iterable[int]) -> str:
    """{0, 4} → ``"0x11"``: one hexadecimal number, however wide."""
    return hex(sum(1 << pu for pu in set(pus)))


def parse_pu_mask(text: str) -> tuple[int, ...]:
    """Hwloc's bitmaps: ``"0x0000000f,,0x1"`` → (0, 64, 65, 66, 67), 32 bits a word, highest first."""
    pus: list[int] = []
    for position, word in enumerate(reversed(text.split(","))):
        value = int(word, 16) if word not in {"", "0xf...f"} else 0
        pus += [position * 32 + bit for bit in range(value.bit_length()) if value >> bit & 1]
    return tuple(pus)
