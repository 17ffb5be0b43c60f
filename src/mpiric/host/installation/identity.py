"""Identity of this installation: its native parts, what they need, and whether they are unaltered."""

import hashlib
import json
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from mpiric.host.host import Host
from mpiric.host.installation.native import native_root
from mpiric.model.mpi_library import AbiFamily

_MANIFEST, _RUNTIME = "manifest.json", "libmpiric.so"  # the first as cmake/manifest.py writes it


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
    facts = _manifest(root)
    elfs = [elf for path in sorted(root.glob("**/*")) if path.is_file() and (elf := host.elf(str(path)))]
    return NativeParts(
        built_by=str(facts.get("built_by", "")),
        portable=bool(facts.get("portable", False)),
        glibc_floor=max((elf.glibc_needed for elf in elfs), default=()),
        families=tuple(family for family in AbiFamily if (root / family.value / _RUNTIME).is_file()),
    )


def altered_parts(root: Path | None = None) -> tuple[str, ...]:
    """Absolute paths of native parts that are not as they were built: changed or gone; none where unknown."""
    root = root or native_root()
    digests = _manifest(root).get("sha256")
    rows = sorted(digests.items()) if isinstance(digests, dict) else []
    return tuple(str(root / name) for name, digest in rows if _digest(root / name) != digest)


def installed_by() -> str:
    """The program that installed mpiric (``pip``, ``uv``, ``conda``), "" where its metadata does not say."""
    try:
        text = metadata.distribution("mpiric").read_text("INSTALLER")
    except metadata.PackageNotFoundError:
        return ""
    return (text or "").strip()


def _manifest(root: Path) -> dict[str, object]:
    try:
        facts = json.loads((root / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
