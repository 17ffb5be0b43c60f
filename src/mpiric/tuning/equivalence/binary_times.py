"""Binary files that differ only in the time of writing: attributes and headers with a date or time."""

import re
import struct
from collections.abc import Iterator
from pathlib import Path

from mpiric.tuning.equivalence.time_forms import CLOCK, DAY, can_be_time, is_time_number

_BLOCK_BYTES = 1 << 20
_MOST_PLACES = 1000  # more differences than this are not time stamps
_AROUND_BYTES = 48  # context of a difference: the length of the longest time
_TIME = re.compile(rf"{DAY}|{CLOCK}", re.IGNORECASE)
_NUMBERS = (("<I", 4), (">I", 4), ("<q", 4), (">q", 4), ("<d", 8), (">d", 8))  # format, alignment


def differ_in_times_alone(first: Path, second: Path) -> bool:
    """Return whether all differing bytes belong to times: in text, or as seconds since 1970."""
    if first.stat().st_size != second.stat().st_size:
        return False
    with first.open("rb") as one, second.open("rb") as other:
        for number, (begin, end) in enumerate(_differences(first, second)):
            offset = max(0, begin - _AROUND_BYTES) // 8 * 8
            one.seek(offset)
            other.seek(offset)
            windows = [file.read(end + _AROUND_BYTES - offset) for file in (one, other)]
            span = begin - offset, end - offset
            if number == _MOST_PLACES or not (_in_text(windows, span) or _in_number(windows, span)):
                return False
    return True


def _differences(first: Path, second: Path) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each sequence of differing bytes."""
    offset = 0
    with first.open("rb") as one, second.open("rb") as other:
        while block := one.read(_BLOCK_BYTES):
            other_block = other.read(_BLOCK_BYTES)
            if block != other_block:
                begin = None
                for at, (a, b) in enumerate(zip(block, other_block, strict=True)):
                    if a != b and begin is None:
                        begin = at
                    elif a == b and begin is not None:
                        yield offset + begin, offset + at
                        begin = None
                if begin is not None:
                    yield offset + begin, offset + len(block)
            offset += len(block)


def _in_text(windows: list[bytes], span: tuple[int, int]) -> bool:
    return all(
        any(
            match.start() <= span[0] and span[1] <= match.end() and can_be_time(match[0])
            for match in _TIME.finditer(re.sub(rb"[^\x20-\x7e]", b"\n", window).decode("ascii"))
        )
        for window in windows
    )


def _in_number(windows: list[bytes], span: tuple[int, int]) -> bool:
    for form, alignment in _NUMBERS:
        size = struct.calcsize(form)
        for at in range(max(0, span[1] - size), span[0] + 1):
            if at % alignment == 0 and all(
                at + size <= len(window) and is_time_number(struct.unpack_from(form, window, at)[0])
                for window in windows
            ):
                return True
    return False
