"""Damaged copies of valid files: bits, lengths and types are changed at random, from a seed."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

# Replacements of a part of a file, and of a value.
TOKENS = [
    b"", b"\0", b"\n", b" ", b"-1", b"0", b"1e999", b"NaN", b"Infinity", b"-Infinity", b"9" * 400,
    b"99999999999999999999", b"2147483648", b"\xff\xfe", b"\xed\xa0\x80", b"\\ud800", b'"', b"[", b"{", b"}",
    b"<", b"=", b":", b",", b"%s", b"../", b"[1-99999999]", b"true", b"null", b"\x1b[31m", b"\xd9\xa3",
    b"[" * 3000, b"a" * 5000,
]  # fmt: skip
VALUES: list[Any] = [
    None, True, -1, 0, 2**31, 2**64, 10**400, 1e308, float("inf"), float("nan"), "", "x", "\ud800", "a\0b",
    "2026-01-01", "2026-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "١", "9" * 5000,
    [], [1, "x"], {}, {"a": 1},
    [[]], [None],
]  # fmt: skip
Mutate = Callable[[bytes, random.Random], bytes]


def damage(data: bytes, chance: random.Random) -> bytes:
    """Change up to four places of a file: bits are flipped, parts removed, repeated or replaced."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(data))
        end = min(len(data), at + chance.choice([1, 2, 4, 8, 64]))
        kind = chance.randrange(6)
        if kind == 0 and data:
            at = min(at, len(data) - 1)
            data = data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
        elif kind == 1:
            data = data[:at]
        elif kind == 2:
            data = data[:at] + data[at:end] * 2 + data[end:]
        elif kind == 3:
            data = data[:at] + chance.choice(TOKENS) + data[end:]
        elif kind == 4:
            data = data[:at] + chance.randbytes(end - at) + data[end:]
        else:  # a number in a binary file that is as large, or as small, as it can be
            data = data[:at] + chance.choice([b"\xff", b"\0", b"\x7f"]) * (end - at) + data[end:]
    return data


def damage_json(data: bytes, chance: random.Random) -> bytes:
    """Replace values of a JSON document or remove keys; one time in four, damage it as text."""
    if chance.randrange(4) == 0:
        return damage(data, chance)
    document = deepcopy(json.loads(data))
    for _ in range(chance.randint(1, 3)):
        document = _changed(document, chance)
    return json.dumps(document).encode()


def damage_lines(data: bytes, chance: random.Random) -> bytes:
    """Damage one or two of several JSON lines."""
    lines = data.splitlines(keepends=True)
    for _ in range(chance.randint(1, 2)):
        at = chance.randrange(len(lines))
        with suppress(ValueError):  # damaged already
            lines[at] = damage_json(lines[at], chance) + b"\n"
    return b"".join(lines)


def _changed(document: Any, chance: random.Random) -> Any:
    """Return the document with one value replaced or removed, chosen with equal probability."""
    places = list(_places(document))
    if not places or chance.randrange(len(places) + 1) == 0:
        return deepcopy(chance.choice(VALUES))
    holder, key = chance.choice(places)
    if chance.randrange(8) == 0:
        del holder[key]
    else:
        holder[key] = deepcopy(chance.choice(VALUES))
    return document


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Yield container and key of each value in a document."""
    is_list = isinstance(document, list)
    for key in document if isinstance(document, dict) else range(len(document)) if is_list else ():
        yield document, key
        yield from _places(document[key])
