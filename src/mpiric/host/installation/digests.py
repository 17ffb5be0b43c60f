"""Digests of the native parts as they were built, and whether a part is still what it was then."""

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

_MANIFEST = "manifest.json"  # as cmake/manifest.py writes it


def read_manifest(root: Path) -> Mapping[str, object]:
    """What the native parts below a directory say of themselves; empty where they say nothing."""
    try:
        facts = json.loads((root / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def altered_below(root: Path) -> tuple[str, ...]:
    """Absolute paths of native parts that are not as they were built: changed or gone; none where unknown."""
    rows = sorted(_digests(root).items())
    return tuple(str(root / name) for name, digest in rows if _digest(root / name) != digest)


def is_altered(path: Path, root: Path) -> bool:
    """Whether a native part below ``root`` is not as it was built; no where its digest is unknown."""
    known = _digests(root).get(path.relative_to(root).as_posix())
    return known is not None and _digest(path) != known


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
    """Digest of a file, read once while its size and time stay: libraries are asked for often."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
