"""Installation of translation libraries, and links that give a library another name.

A translation library provides the ABI of one family with a library of another. Its directory contains the
translation library under each name that a program may need, and a file ``library`` with the path of the
underlying library. The Fortran library is in a separate directory ``fortran``, because some programs keep
their own. Commands that mpiric prints refer to such directories, so they are permanent and in the XDG data
directory.

A program that needs ``libmpi.so.12`` can use a library called ``libmpich.so.12`` if a directory in its
library path has a link with the needed name. Commands that mpiric prints refer to such directories, so they
are permanent and in the XDG data directory.
"""

import errno
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from mpiric.host.files import is_directory, is_file
from mpiric.host.installation.native import native_fortran, native_stand_in, stand_in_functions
from mpiric.host.owned_files import is_own_directory, open_new, remove_tree, write_whole
from mpiric.host.user_directories import user_directory
from mpiric.model.errors import NotFoundError
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.translation import FORTRAN_NAMES, NAMES, PAIRS, SONAMES, own_family

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def linked_directory(label: str, links: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """Return a directory that contains each link (name → absolute path), created or repaired; else "".

    If the data directory is not writable, the system's temporary directory is used.
    """
    targets = hashlib.sha256("\0".join(sorted(links.values())).encode()).hexdigest()[:8]
    for base in bases(environ):
        try:
            directory = loadable_directory(base, "links", f"{label}-{targets}")
            for name, target in links.items():
                make_link(directory / name, target)
        except OSError:
            continue
        return str(directory)
    return ""


def loadable_directory(base: Path, *names: str) -> Path:
    """Create ``base``/``names``… for libraries that programs load, writable only for this user.

    Write permission of group and others is removed, for any umask; a directory that others could have
    written to is created again. Raises PermissionError for a directory of a user other than this one or
    root.
    """
    directory = base
    for depth in range(len(names) + 1):
        if depth:
            directory = directory / names[depth - 1]
        directory.mkdir(parents=depth == 0, exist_ok=True)
        facts = directory.lstat() if depth else directory.stat()  # the base may be a link of the user
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid not in (0, os.geteuid()):
            raise PermissionError(errno.EPERM, "it is another user's", str(directory))
        if not facts.st_mode & _WRITABLE_BY_OTHERS:
            continue
        if depth > 1 and any(directory.iterdir()):
            remove_tree(directory)
            directory.mkdir()
        directory.chmod(stat.S_IMODE(directory.stat().st_mode) & ~_WRITABLE_BY_OTHERS)
    return directory


def make_link(path: Path, target: str) -> None:
    """Create or replace a link atomically."""
    try:
        if os.readlink(path) == target:  # noqa: PTH115 the text, not a path
            return
    except OSError:
        pass  # missing, or not a link
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    temporary.symlink_to(target)
    temporary.replace(path)


def bases(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the directories for permanent links and libraries, the best first.

    The one in the temporary directory is only created when the others have failed.
    """
    if data := user_directory(environ, "data"):
        yield Path(data) / "mpiric"
    fallback = Path(tempfile.gettempdir()) / f"mpiric-{os.getuid()}"
    with suppress(OSError):
        fallback.mkdir(mode=0o700, exist_ok=True)
    if is_own_directory(fallback):  # every user can write into the temporary directory
        yield fallback


def library_bases(environ: Mapping[str, str]) -> Iterator[Path]:
    """Return the directories of `bases` that are not mounted ``noexec``, for permanent libraries."""
    return filter(_can_be_loaded_from, bases(environ))


def _can_be_loaded_from(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return not os.statvfs(directory).f_flag & os.ST_NOEXEC
    except OSError:
        return False


_LIBRARY = "library"
_MARK = b"mpiric_stand_in_for"  # symbol that every translation library defines


def stand_ins() -> tuple[tuple[AbiFamily, AbiFamily], ...]:
    """Return the pairs of ABI families with a translation library in this installation."""
    return tuple(pair for pair in PAIRS if native_stand_in(*pair, SONAMES[pair[0]]))


@lru_cache(maxsize=4)
def functions(how: str) -> frozenset[str]:
    """Return lower-case names of functions that translation libraries handle in one way."""
    return frozenset(name.lower() for name in stand_in_functions(how))


def stand_in_directory(program: AbiFamily, library: MpiLibrary, environ: Mapping[str, str]) -> str:
    """Create or update the directory of the translation library for a program's family; "" on failure."""
    mark = hashlib.sha256(library.library.encode()).hexdigest()[:8]
    for base in library_bases(environ):
        try:
            directory = loadable_directory(base, "stand-ins", f"{program.value}-by-{library.label}-{mark}")
            write_stand_in(directory, program, library, put=_link)
        except OSError:
            continue
        return str(directory)
    return ""


def repair_path(source: str, environ: Mapping[str, str]) -> str:
    """Install a library that corrects a standard ABI; return its permanent path, or ``source`` on failure."""
    for base in library_bases(environ):
        names = ("stand-ins", Path(source).parent.name)
        try:
            directory = loadable_directory(base, *names)
            return str(_put(directory, Path(source), (Path(source).name,), _link))
        except OSError:
            continue
    return source


def _copy(source: Path, path: Path) -> None:
    with os.fdopen(open_new(path, 0o755), "wb") as file, source.open("rb") as library:
        shutil.copyfileobj(library, file)
        os.fchmod(file.fileno(), 0o755)


def _link(source: Path, path: Path) -> None:
    """Create a hard link, which takes no time and space, or a copy on another file system."""
    try:
        os.link(source, path)
    except OSError:
        _copy(source, path)


def write_stand_in(
    directory: Path, program: AbiFamily, library: MpiLibrary, put: Callable[[Path, Path], None] = _copy
) -> str:
    """Write a translation library under all its names and the path of its library; return its absolute path.

    Raises NotFoundError when this installation has none for such a pair.
    """
    family = own_family(library)
    source = native_stand_in(program, family, SONAMES[program]) if family else ""
    if not source:
        raise NotFoundError(
            f"no stand-in exists for the {program.value} ABI over {library.label}",
            hint="mpiric mpi list shows what each library serves",
        )
    main = _put(directory, Path(source), NAMES[program][:1], put)
    for name in NAMES[program][1:]:
        if named_so := native_stand_in(program, family, name) if family else "":
            _put(directory, Path(named_so), (name,), put)
        else:
            make_link(directory / name, main.name)
    if program in FORTRAN_NAMES and (fortran := native_fortran(program, FORTRAN_NAMES[program][0])):
        _put(directory / "fortran", Path(fortran), FORTRAN_NAMES[program], put)
    if not is_file(text := directory / _LIBRARY) or text.read_text() != f"{library.library}\n":
        write_whole(text, f"{library.library}\n".encode(), 0o644)
    return str(main)


def preloaded_stand_in(preload: str) -> tuple[str, str]:
    """Return the translation library in an LD_PRELOAD value and the library below it; "" without one."""
    for path in map(Path, preload.replace(":", " ").split()):
        if not any(path.name in names for names in NAMES.values()):
            continue
        if is_file(leads_to := path.with_name(_LIBRARY)):
            return str(path), leads_to.read_text(encoding="utf-8").strip()
        if is_file(path) and _MARK in path.read_bytes():
            return str(path), ""
    return "", ""


def fortran_in(directory: Path, program: AbiFamily) -> str:
    """Return the Fortran library in the directory of a translation library, "" without one."""
    path = directory / "fortran" / FORTRAN_NAMES[program][0] if program in FORTRAN_NAMES else None
    return str(path) if path and is_file(path) else ""


def _put(directory: Path, source: Path, names: tuple[str, ...], put: Callable[[Path, Path], None]) -> Path:
    """Write a file under its first name, and links under the other names."""
    if not is_directory(directory):
        loadable_directory(directory)
    path_of_file = directory / names[0]
    if not is_file(path_of_file) or not (
        path_of_file.samefile(source) or path_of_file.read_bytes() == source.read_bytes()
    ):
        temporary = path_of_file.with_name(f".{path_of_file.name}.{secrets.token_hex(6)}")
        put(source, temporary)
        temporary.replace(path_of_file)
    for name in names[1:]:
        make_link(directory / name, path_of_file.name)
    return path_of_file
