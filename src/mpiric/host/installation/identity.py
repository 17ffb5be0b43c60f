"""Identity of this installation: its native parts, their requirements, and their integrity."""

from importlib import metadata
from pathlib import Path

from mpiric.host.host import Host
from mpiric.host.installation.native import altered_below, native_root, read_manifest
from mpiric.model.dataclass import dataclass
from mpiric.model.mpi_library import AbiFamily

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
    return altered_below(root or native_root())


def installed_by() -> str:
    """Return the installer of mpiric (``pip``, ``uv``, ``conda``), "" if the metadata does not name it."""
    try:
        text = metadata.distribution("mpiric").read_text("INSTALLER")
    except metadata.PackageNotFoundError:
        return ""
    return (text or "").strip()
