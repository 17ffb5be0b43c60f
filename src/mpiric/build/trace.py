"""Trace of a link: files and archive members that the linker used.

The command line does not have the file match by `-l`, used members of an archive, and files of linker
scripts. The linker prints all of them with ``-t``.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mpiric.build.archive import Member, files_of_thin, is_archive, members
from mpiric.build.elf import RELOCATABLE, ElfFile, is_elf
from mpiric.build.payload import SECTION_PREFIX

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
            member = _member(archive, match["member"], times[archive, match["member"]])
            if member is not None and is_elf(member.data):
                loaded.append(Loaded(archive, match["member"], member.data))
            continue
        path = root / line
        if path in visited or not line or not path.is_file():
            continue
        visited.add(path)
        previous_count = len(archives)
        _add_file(path, loaded, archives)
        for archive in archives[previous_count:]:
            thin.update((file, (archive, name)) for file, name in files_of_thin(archive).items())
        whose = thin.get(path.resolve()) if thin else None
        if whose and path.resolve() not in named_files:
            loaded[-1] = Loaded(whose[0], Path(whose[1]).name, loaded[-1].data)
    return Trace(tuple(loaded), tuple(archives))


def _add_file(path: Path, loaded: list[Loaded], archives: list[Path]) -> None:
    with path.open("rb") as file:
        head = file.read(20)
        if is_archive(head):
            archives.append(path)
        elif is_elf(head) and int.from_bytes(head[16:18], "little") == RELOCATABLE:
            loaded.append(Loaded(path, "", head + file.read()))


def _member(archive: Path, name: str, occurrence: int) -> Member | None:
    """Return the n-th member of that name: two sources of one name can share an archive."""
    same = _by_name(archive).get(Path(name).name, [])
    return same[min(occurrence, len(same)) - 1] if same else None


@lru_cache(maxsize=256)
def _by_name(archive: Path) -> dict[str, list[Member]]:
    """Return members by file name; a large archive is queried thousands of times."""
    by_name: dict[str, list[Member]] = {}
    for member in _members(archive):
        by_name.setdefault(Path(member.name).name, []).append(member)
    return by_name


@lru_cache(maxsize=256)
def _members(archive: Path) -> tuple[Member, ...]:
    return tuple(members(archive)) if archive.is_file() else ()


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
