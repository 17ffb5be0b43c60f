"""What a link really took: the linker's own trace, file by file and archive member by archive member.

Reading the command line cannot tell: which `-l` found what, which members an archive gave, what a linker
script named. The linker says all of it with ``-t``.
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

TRACE_WORDS = ("-Wl,-t", "-Wl,-t")  # given twice, GNU ld names the members too
_MEMBER = (
    re.compile(r"^\((?P<archive>.+)\)(?P<member>[^()]+)$"),
    re.compile(r"^(?P<archive>.+)\((?P<member>[^()]+)\)$"),
)
_LINK_TIME = re.compile(r"\.ltrans\d*\.ltrans\.o$|\.ltrans\d+\.o$|\.lto\.\d*\.?o$")
# Archives that belong to the compiler and the C library: one copy, taken by the last link.
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
    """An object file that became part of a program."""

    path: Path  # the object, or the archive it is in
    member: str  # "" for an object of its own
    data: bytes

    @property
    def label(self) -> str:
        """The name of the object as people know it."""
        return f"{self.path}({self.member})" if self.member else str(self.path)

    @property
    def is_toolchain(self) -> bool:
        """Whether it is start-up code or from a library of the compiler or the C library."""
        if self.is_fat:
            return False
        return bool((_TOOLCHAIN if self.member else _STARTUP).fullmatch(self.path.name))

    @property
    def is_link_time(self) -> bool:
        """Whether link-time optimisation made it, from objects that hold intermediate code."""
        return not self.member and bool(_LINK_TIME.search(self.path.name))

    @property
    def is_fat(self) -> bool:
        """Whether it carries variants; the bytes decide before the section table is read."""
        return SECTION_PREFIX.encode() in self.data and any(
            section.name.startswith(SECTION_PREFIX) for section in elf_of(self.data).sections
        )


@dataclass(frozen=True)
class Trace:
    """The object files of a link in order, and the archives it looked into."""

    loaded: tuple[Loaded, ...]
    archives: tuple[Path, ...]


@lru_cache(maxsize=4096)
def elf_of(data: bytes) -> ElfFile:
    """The parsed form of an object; symbols of one are looked at several times during a link."""
    return ElfFile(data)


def read_trace(output: str, root: Path, given: Collection[Path] = ()) -> Trace:
    """The linker's output → what it took; relative names are relative to ``root``.

    Of a member of a thin archive the linker names the file. One that is among the ``given``, the files on the
    command line, was taken for itself.
    """
    loaded: list[Loaded] = []
    thin: dict[Path, tuple[Path, str]] = {}
    archives: list[Path] = []
    times: Counter[tuple[Path, str]] = Counter()
    seen: set[Path] = set()
    for line in output.splitlines():
        found = next((match for match in (p.match(line) for p in _MEMBER) if match), None)
        if found:
            archive = root / found["archive"]
            times[archive, found["member"]] += 1
            member = _member(archive, found["member"], times[archive, found["member"]])
            if member is not None and is_elf(member.data):
                loaded.append(Loaded(archive, found["member"], member.data))
            continue
        path = root / line
        if path in seen or not line or not path.is_file():
            continue
        seen.add(path)
        known = len(archives)
        _add_file(path, loaded, archives)
        for archive in archives[known:]:
            thin.update((file, (archive, name)) for file, name in files_of_thin(archive).items())
        whose = thin.get(path.resolve()) if thin else None
        if whose and path.resolve() not in given:
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
    """The n-th member of that name: two sources of one name can share an archive."""
    same = _by_name(archive).get(Path(name).name, [])
    return same[min(occurrence, len(same)) - 1] if same else None


@lru_cache(maxsize=256)
def _by_name(archive: Path) -> dict[str, list[Member]]:
    """Members by file name; a library of thousands is asked thousands of times."""
    found: dict[str, list[Member]] = {}
    for member in _members(archive):
        found.setdefault(Path(member.name).name, []).append(member)
    return found


@lru_cache(maxsize=256)
def _members(archive: Path) -> tuple[Member, ...]:
    return tuple(members(archive)) if archive.is_file() else ()


def all_members(archive: Path) -> tuple[Member, ...]:
    """Every member of an archive."""
    return _members(archive)


def shared_once(loaded: Sequence[Loaded], fat_names: Iterable[str]) -> set[int]:
    """Positions of plain objects that one copy serves for all variants.

    Such an object neither uses nor defines a name of a variant, nor does anything it uses. Everything else
    plain is linked into each variant, for it has to meet that variant's functions and data.
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
