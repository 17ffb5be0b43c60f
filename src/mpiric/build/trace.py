"""Object files and archives of a link, from the output of the linker; reader of static libraries.

The command line does not contain the file found by `-l`, used members of an archive, and files of linker
scripts. Archives are in the ``ar`` format of GNU and LLVM, including thin archives.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from mpiric.build.elf import RELOCATABLE, ElfFile, is_elf
from mpiric.build.payload import SECTION_PREFIX
from mpiric.host.files import is_file
from mpiric.model.dataclass import dataclass

_MAGIC, _THIN = b"!<arch>\n", b"!<thin>\n"
_HEADER_BYTES = 60
_INDEXES = ("/", "/SYM64/", "__.SYMDEF")


@dataclass(frozen=True)
class Member:
    """File of an archive. ``name`` is as stored: a bare name, or the path in a thin archive."""

    name: str
    data: bytes
    position: int  # index among the members; names may be equal


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
        # The real name of a member, and its data without a BSD name.
        if name.startswith("#1/"):
            length = int(name[3:])
            name, content = content[:length].rstrip(b"\0").decode(errors="surrogateescape"), content[length:]
        elif name.startswith("/") and name[1:].split(":")[0].isdigit():
            start = int(name[1:].split(":")[0])
            end = long_names.index(b"\n", start)
            name, content = long_names[start:end].rstrip(b"/").decode(errors="surrogateescape"), content
        else:
            name, content = name.rstrip("/"), content
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


TRACE_WORDS = ("-Wl,-t", "-Wl,-t")  # named_files twice so that GNU ld prints members too
_MEMBER = (
    re.compile(r"^\((?P<archive>.+)\)(?P<member>[^()]+)$"),
    re.compile(r"^(?P<archive>.+)\((?P<member>[^()]+)\)$"),
)
_LINK_TIME = re.compile(r"\.ltrans\d*\.ltrans\.o$|\.ltrans\d+\.o$|\.lto\.\d*\.?o$")
# Archives of the compiler and the C library: one copy, used by the final link.
_TOOLCHAIN = re.compile(
    r"lib(gcc(_eh|_s)?|c|m|mvec|m-[\d.]+|pthread|dl|rt|util|resolv|crypt|anl|nsl|(c|pthread|mvec)_nonshared|stdc\+\+(fs|exp)?|supc\+\+"
    r"|gfortran|quadmath|gomp|atomic|itm|ssp(_nonshared)?|asan|tsan|ubsan|lsan|caf_single|imf|svml|irc(_s|mt)?|ifcore(mt)?"
    r"|ifport(mt)?|iomp5|decimal|ipgo|intlc|c\+\+(abi|experimental)?|unwind|omp|clang_rt\..*|[Ff]ortran.*|flang.*|nv.*|cray.*)\.a$"
)
_STARTUP = re.compile(
    r"(.*crt(0|1|i|n|begin|end|fastmath|prec\d+|offload\w*)?[ST]?|.*crt[a-z]*\w?|for_main|.*-main|f90main|nvhpc?main)\.o$"
)


@dataclass(frozen=True)
class Loaded:
    """Object file that became part of a program."""

    path: Path  # object or its archive
    member: str  # "" if the object is not in an archive
    data: bytes

    @property
    def label(self) -> str:
        """Name of the object in messages."""
        return f"{self.path}({self.member})" if self.member else str(self.path)

    @property
    def is_toolchain(self) -> bool:
        """Check whether it is start-up code or part of the compiler's libraries or the C library."""
        if self.is_fat:
            return False
        return bool((_TOOLCHAIN if self.member else _STARTUP).fullmatch(self.path.name))

    @property
    def is_link_time(self) -> bool:
        """Check whether link-time optimisation generated it from intermediate code."""
        return not self.member and bool(_LINK_TIME.search(self.path.name))

    @property
    def is_fat(self) -> bool:
        """Check whether it has variants; a byte search precedes the section table."""
        return SECTION_PREFIX.encode() in self.data and any(
            section.name.startswith(SECTION_PREFIX) for section in elf_of(self.data).sections
        )


@dataclass(frozen=True)
class Trace:
    """Object files of a link in order, and the archives it searched."""

    loaded: tuple[Loaded, ...]
    archives: tuple[Path, ...]


@lru_cache(maxsize=4096)
def elf_of(data: bytes) -> ElfFile:
    """Return the parsed object; its symbols are needed several times during a link."""
    return ElfFile(data)


def read_trace(output: str, root: Path, named_files: Collection[Path] = ()) -> Trace:
    """Parse the linker's output; relative names are relative to ``root``.

    For a member of a thin archive, the linker prints its file. ``named_files``, which are on the command
    line, are not members.
    """
    loaded: list[Loaded] = []
    thin: dict[Path, tuple[Path, str]] = {}
    archives: list[Path] = []
    times: Counter[tuple[Path, str]] = Counter()
    visited: set[Path] = set()
    for line in output.splitlines():
        match = next((m for m in (p.match(line) for p in _MEMBER) if m), None)
        if match:
            archive = root / match["archive"]
            times[archive, match["member"]] += 1
            # two sources of one name can share an archive
            same = _by_name(archive).get(Path(match["member"]).name, [])
            member = same[min(times[archive, match["member"]], len(same)) - 1] if same else None
            if member is not None and is_elf(member.data):
                loaded.append(Loaded(archive, match["member"], member.data))
            continue
        path = root / line
        if path in visited or not line or not is_file(path):
            continue
        visited.add(path)
        previous_count = len(archives)
        with path.open("rb") as file:
            head = file.read(20)
            if head[:8] in (_MAGIC, _THIN):
                archives.append(path)
            elif is_elf(head) and int.from_bytes(head[16:18], "little") == RELOCATABLE:
                loaded.append(Loaded(path, "", head + file.read()))
        for archive in archives[previous_count:]:
            thin.update((file, (archive, name)) for file, name in files_of_thin(archive).items())
        whose = thin.get(path.resolve()) if thin else None
        if whose and path.resolve() not in named_files:
            loaded[-1] = Loaded(whose[0], Path(whose[1]).name, loaded[-1].data)
    return Trace(tuple(loaded), tuple(archives))


@lru_cache(maxsize=256)
def _by_name(archive: Path) -> dict[str, list[Member]]:
    """Return members by file name; a large archive is queried thousands of times."""
    by_name: dict[str, list[Member]] = {}
    for member in _members(archive):
        by_name.setdefault(Path(member.name).name, []).append(member)
    return by_name


@lru_cache(maxsize=256)
def _members(archive: Path) -> tuple[Member, ...]:
    return tuple(members(archive)) if is_file(archive) else ()


def all_members(archive: Path) -> tuple[Member, ...]:
    """Return all members of an archive."""
    return _members(archive)


def shared_once(loaded: Sequence[Loaded], fat_names: Iterable[str]) -> set[int]:
    """Return positions of plain objects with one copy for all variants.

    Such an object neither uses nor defines a name of a variant, nor do objects it uses. All other plain
    objects are linked into each variant, because they need the variant's functions and data.
    """
    inside = set(fat_names)
    candidates = {
        at: elf_of(item.data)
        for at, item in enumerate(loaded)
        if not item.is_fat
        and not item.is_toolchain
        and not elf_of(item.data).has_lto
        and not item.is_link_time
    }
    while True:
        touched = {
            at
            for at, elf in candidates.items()
            if not inside.isdisjoint(elf.needed_names | elf.defined_names)
        }
        if not touched:
            return set(candidates)
        for at in touched:
            inside |= candidates.pop(at).defined_names
