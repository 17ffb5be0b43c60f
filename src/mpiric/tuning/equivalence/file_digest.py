"""Digest of a file. Of a large one several parts are read at a time: one reader waits for one target."""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path

_PART_BYTES = 1 << 20
_AT_A_TIME = 16


def file_digest(path: Path) -> bytes:
    """Digest of all bytes of a file."""
    state = blake2b(digest_size=16)
    with path.open("rb", buffering=0) as file:
        for part in _parts(file.fileno(), os.fstat(file.fileno()).st_size):
            state.update(part)
    return state.digest()


def _parts(file: int, size_bytes: int) -> Iterator[bytes]:
    offsets = range(0, size_bytes, _PART_BYTES)
    if len(offsets) < 2:
        yield _part(file, 0)
        return
    with ThreadPoolExecutor(_AT_A_TIME) as readers:
        asked: deque[Future[bytes]] = deque()
        for offset in offsets:
            asked.append(readers.submit(_part, file, offset))
            if len(asked) == _AT_A_TIME:
                yield asked.popleft().result()
        while asked:
            yield asked.popleft().result()


def _part(file: int, offset: int) -> bytes:
    """The part that begins there, shorter only at the file's end."""
    found = b""
    while block := os.pread(file, _PART_BYTES - len(found), offset + len(found)):
        found += block
    return found
