"""The variants inside a fat object: sections ``.mpiric.<target>`` that linkers leave out of an executable.

A section holds one or more payloads end to end (``ld -r`` concatenates them), each a header and an object:
magic, length of the description, length of the object, the description as JSON, the object. A section
``.mpiric.<baseline>`` has a description only: the fat object itself is the baseline.
"""

import json
import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mpiric.build.elf import ElfFile, is_elf
from mpiric.model.json_text import parse_json

SECTION_PREFIX = ".mpiric."
_MAGIC = b"MPIRIC\x001"
_HEADER = struct.Struct("<8sII")


class Origin(NamedTuple):
    """Compiler and flags of a variant; many files of a directory share one."""

    target: str
    compiler: str  # such as "gcc 12.2.0"
    flags: str  # compiler flags of this variant, except options with file names
    needs: tuple[str, ...]  # CPU features that the compiler may use
    is_baseline: bool = False


class Payload(NamedTuple):
    """Variant of an object; ``data`` is empty if the fat object itself is the variant."""

    origin: Origin
    data: bytes


def describe(origin: Origin) -> str:
    """Serialise an origin for a payload."""
    return json.dumps(origin._asdict(), sort_keys=True, separators=(",", ":"))


def pack(description: str, data: bytes) -> bytes:
    """Return the padded bytes of a payload; ``src/front`` writes the same format."""
    text = description.encode()
    body = _HEADER.pack(_MAGIC, len(text), len(data)) + text + data
    return body + bytes(-len(body) % 8)


def payloads(data: bytes) -> Iterator[Payload]:
    """Yield the payloads of an object file; none if it is not fat."""
    if not is_elf(data):
        return
    elf = ElfFile(data)
    for section in elf.sections:
        if section.name.startswith(SECTION_PREFIX):
            yield from _unpack(elf.contents(section))


def _unpack(raw: bytes) -> Iterator[Payload]:
    offset = 0
    while offset + _HEADER.size <= len(raw):
        magic, length, size = _HEADER.unpack_from(raw, offset)
        if magic != _MAGIC:  # padding of the linker between two inputs
            offset += 1
            continue
        offset += _HEADER.size
        origin: Mapping[str, object] = parse_json(raw[offset : offset + length])
        offset += length
        needs = origin.get("needs") or ()
        yield Payload(
            Origin(
                target=str(origin["target"]),
                compiler=str(origin["compiler"]),
                flags=str(origin["flags"]),
                needs=tuple(str(need) for need in needs) if isinstance(needs, (list, tuple)) else (),
                is_baseline=bool(origin.get("is_baseline")),
            ),
            raw[offset : offset + size],
        )
        offset += size + -(_HEADER.size + length + size) % 8
