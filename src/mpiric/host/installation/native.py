"""Location, integrity and properties of the native parts.

`make setup` or a build of the package from a checkout creates them.
"""

import contextlib
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from mpiric.host.host import Host
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import NotFoundError
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.quoting import sh_word

_MANIFEST = "manifest.json"  # written by cmake/manifest.py


def read_manifest(root: Path) -> Mapping[str, object]:
    """Return the manifest of the native parts in a directory; empty without one."""
    try:
        facts = json.loads((root / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def is_altered(path: Path, root: Path) -> bool:
    """Return whether a native part below ``root`` has changed since its build; False without its digest."""
    expected = _digests(root).get(path.relative_to(root).as_posix())
    return expected is not None and _digest(path) != expected


def _digests(root: Path) -> Mapping[str, object]:
    digests = read_manifest(root).get("sha256")
    return digests if isinstance(digests, dict) else {}


def _digest(path: Path) -> str:
    try:
        status = path.stat()
        return _digest_of(path, status.st_size, status.st_mtime_ns)
    except OSError:
        return ""


@lru_cache
def _digest_of(path: Path, _size: int, _mtime_ns: int) -> str:
    """Return the digest of a file; cached as long as its size and time are unchanged."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


_ROOT = Path(__file__).resolve().parents[2] / "_native"
_NO_FAMILY = "any"
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def native_root() -> Path:
    """Return the directory of all native parts, which may not exist."""
    return _ROOT


def native_part(name: str, family: AbiFamily | None = None) -> str:
    """Return the absolute path of a native program or library, for one ABI family or for none.

    Raises NotFoundError if the part is missing or has changed since its build: it could crash a user's
    program.
    """
    path = _ROOT / (family.value if family else _NO_FAMILY) / name
    if not path.is_file():
        whose = f" for the {family.value} ABI" if family else ""
        raise NotFoundError(
            f"{name}{whose} is not part of this installation",
            hint="run 'make setup' in a checkout, or install a wheel that has native parts",
        )
    if is_altered(path, _ROOT):
        raise NotFoundError(
            f"{path} is not as it was built, so that it is not used", hint="install mpiric again"
        )
    if _can_be_changed_by_others(path):
        raise NotFoundError(
            f"{path} can be changed by others than its owner, so that it is not used",
            hint=f"its owner can forbid it: chmod -R go-w {sh_word(str(_ROOT))}",
        )
    return str(path)


def native_stand_in(program: AbiFamily, library: AbiFamily, soname: str) -> str:
    """Return the absolute path of the translation library for a pair of ABI families, "" without one."""
    return _usable(_ROOT / "translate" / f"{program.value}-{library.value}" / soname)


def native_fortran(program: AbiFamily, soname: str) -> str:
    """Return the absolute path of the Fortran library for programs of a family, "" without one."""
    return _usable(_ROOT / "translate" / f"fortran-{program.value}" / soname)


def _usable(path: Path) -> str:
    """Return the path of a part that is intact and not writable for others; "" otherwise."""
    is_usable = path.is_file() and not is_altered(path, _ROOT) and not _can_be_changed_by_others(path)
    return str(path) if is_usable else ""


def _can_be_changed_by_others(path: Path) -> bool:
    """Return whether other users may write a part or a directory on the path to it.

    Installers create such modes under umask 002. If this user is the owner, the modes are corrected.
    """
    for entry in (path, *path.parents[: len(path.relative_to(_ROOT).parts)]):
        status = entry.stat()
        if not status.st_mode & _WRITABLE_BY_OTHERS or os.statvfs(entry).f_flag & os.ST_RDONLY:
            continue
        if status.st_uid != os.geteuid():
            return True
        entry.chmod(stat.S_IMODE(status.st_mode) & ~_WRITABLE_BY_OTHERS)
    return False


def native_repairs() -> tuple[str, ...]:
    """Return the absolute paths of the libraries that correct constants of standard ABI libraries."""
    paths = sorted(_ROOT.glob("translate/repair-*/libmpiric_repair.so"))
    return tuple(filter(None, map(_usable, paths)))


def stand_in_functions(how: str) -> frozenset[str]:
    """Return the functions that translation libraries handle in one way; "": all functions.

    ``refused``: not supported; ``own``: need no library; ``narrow``: have a form for libraries without
    large counts.
    """
    ledger = _ROOT / "translate/ledger.tsv"
    lines = ledger.read_text(encoding="utf-8").splitlines() if ledger.is_file() else []
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return frozenset(row[0] for row in rows if how in ("", row[1], *row[3:]))


@contextlib.contextmanager
def library_under_name(library: str, soname: str, inside: str | None = None) -> Iterator[str]:
    """Yield a directory for LD_LIBRARY_PATH in which a library has the soname that native parts need.

    Debian's MPICH is ``libmpich.so.12`` but has the ABI of ``libmpi.so.12``. ``inside`` is a directory that
    other hosts can access; without it a temporary directory is used.
    """
    with tempfile.TemporaryDirectory(prefix=".mpiric-" if inside else "mpiric-", dir=inside) as directory:
        (Path(directory) / soname).symlink_to(library)
        yield directory


_RUNTIME = "libmpiric.so"


@dataclass(frozen=True)
class NativeParts:
    """Facts about all native parts; empty without native parts."""

    built_by: str = ""  # compiler and version, "" if unknown
    portable: bool = False  # built for older systems than the build machine
    glibc_floor: tuple[int, ...] = ()  # oldest glibc that all of them support
    families: tuple[AbiFamily, ...] = ()  # ABI families with a runtime


def native_parts(host: Host, root: Path | None = None) -> NativeParts:
    """Return the facts from the manifest and from the ELF files of the native parts."""
    root = root or native_root()
    facts = read_manifest(root)
    elfs = [elf for path in sorted(root.glob("**/*")) if path.is_file() and (elf := host.elf(str(path)))]
    return NativeParts(
        built_by=str(facts.get("built_by", "")),
        portable=bool(facts.get("portable", False)),
        glibc_floor=max((elf.glibc_needed for elf in elfs), default=()),
        families=tuple(family for family in AbiFamily if (root / family.value / _RUNTIME).is_file()),
    )


def altered_parts(root: Path | None = None) -> tuple[str, ...]:
    """Return the absolute paths of changed or missing native parts; none without digests."""
    root = root or native_root()
    rows = sorted(_digests(root).items())
    return tuple(str(root / name) for name, digest in rows if _digest(root / name) != digest)


def installed_by() -> str:
    """Return the installer of mpiric (``pip``, ``uv``, ``conda``), "" if the metadata does not name it."""
    from importlib import metadata  # slow, and only needed here

    try:
        text = metadata.distribution("mpiric").read_text("INSTALLER")
    except metadata.PackageNotFoundError:
        return ""
    return (text or "").strip()
