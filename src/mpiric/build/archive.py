"""Reader of static libraries: the ``ar`` format of GNU and LLVM, including thin archives."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MAGIC, _THIN = b"!<arch>\n", b"!<thin>\n"
_HEADER_BYTES = 60
_INDEXES = ("/", "/SYM64/", "__.SYMDEF")


@dataclass(frozen=True)
class Member:
    """File of an archive. ``name`` is as stored: a bare name, or the path in a thin archive."""

    name: str
    data: bytes
    position: int  # index among the members; names may be equal


def is_archive(head: bytes) -> bool:
    """Check whether a file with these first bytes is a static library."""
    return head[:8] in (_MAGIC, _THIN)


def members(path: Path) -> Iterator[Member]:
    """Yield all members in order, except the index and the table of long names."""
    data = path.read_bytes()
    thin = data[:8] == _THIN
    long_names = b""
    offset, position = 8, 0
    while offset + _HEADER_BYTES <= len(data):
        header = data[offset : offset + _HEADER_BYTES]
        name = header[:16].decode(errors="surrogateescape").rstrip()
        size = int(header[48:58])
        offset += _HEADER_BYTES
        special = name in ("//", *_INDEXES)
        content = data[offset : offset + size] if special or not thin else b""
        if special or not thin:
            offset += size + size % 2
        if name == "//":
            long_names = content
        if special:
            continue
        name, content = _named(name, content, long_names)
        if thin:
            content = _beside(path, name).read_bytes()
        yield Member(name, content, position)
        position += 1


def files_of_thin(path: Path) -> dict[Path, str]:
    """Return the files of a thin archive and the names of their members; empty for other archives."""
    with path.open("rb") as file:
        if file.read(8) != _THIN:
            return {}
    return {_beside(path, member.name).resolve(): member.name for member in members(path)}


def _beside(archive: Path, name: str) -> Path:
    """Return the path of a thin archive's member, which is relative to the archive."""
    return Path(name) if name.startswith("/") else archive.parent / name


def _named(name: str, data: bytes, long_names: bytes) -> tuple[str, bytes]:
    """Return the real name of a member, and its data without a BSD name."""
    if name.startswith("#1/"):
        length = int(name[3:])
        return data[:length].rstrip(b"\0").decode(errors="surrogateescape"), data[length:]
    if name.startswith("/") and name[1:].split(":")[0].isdigit():
        start = int(name[1:].split(":")[0])
        end = long_names.index(b"\n", start)
        return long_names[start:end].rstrip(b"/").decode(errors="surrogateescape"), data
    return name.rstrip("/"), data
