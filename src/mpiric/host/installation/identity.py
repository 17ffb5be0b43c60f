"""Identity of this installation: its native parts, what they need, and whether they are unaltered."""

from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from mpiric.host.host import Host
from mpiric.host.installation.digests import altered_below, read_manifest
from mpiric.host.installation.native import native_root
from mpiric.model.mpi_library import AbiFamily

_RUNTIME = "libmpiric.so"


@dataclass(frozen=True)
class NativeParts:
    """The native parts together; all empty where there are none."""

    built_by: str = ""  # compiler and version, "" when unknown
    portable: bool = False  # built for systems older than the one that built them
    glibc_floor: tuple[int, ...] = ()  # the oldest glibc that all of them run with
    families: tuple[AbiFamily, ...] = ()  # those with a runtime


def native_parts(host: Host, root: Path | None = None) -> NativeParts:
    """What the native parts say of themselves, and their files of them."""
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
    """Absolute paths of native parts that are not as they were built: changed or gone; none where unknown."""
    return altered_below(root or native_root())


def installed_by() -> str:
    """The program that installed mpiric (``pip``, ``uv``, ``conda``), "" where its metadata does not say."""
    try:
        text = metadata.distribution("mpiric").read_text("INSTALLER")
    except metadata.PackageNotFoundError:
        return ""
    return (text or "").strip()
