"""Digests of the native parts at build time, and the check for changes since then."""

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

_MANIFEST = "manifest.json"  # written by cmake/manifest.py


def read_manifest(root: Path) -> Mapping[str, object]:
    """Return the manifest of the native parts in a directory; empty without one."""
    try:
        facts = json.loads((root / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def altered_below(root: Path) -> tuple[str, ...]:
    """Return the absolute paths of changed or missing native parts; none without digests."""
    rows = sorted(_digests(root).items())
    return tuple(str(root / name) for name, digest in rows if _digest(root / name) != digest)


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
