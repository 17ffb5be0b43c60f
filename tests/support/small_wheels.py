"""Wheels of a few bytes that are valid for pip and for the installer."""

import base64
import hashlib
import zipfile
from pathlib import Path


def write_wheel(
    directory: Path,
    name: str,
    version: str,
    files: dict[str, bytes],
    *,
    wrong_hash: str = "",
    programs: str = "bin/",
) -> Path:
    """Write a wheel with ``files`` in its data scheme; RECORD has a wrong hash of the file ``wrong_hash``."""
    directory.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    members = {f"{stem}.data/data/{path}": content for path, content in files.items()}
    members[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    members[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    rows = [
        f"{path},sha256={_digest(content, path.endswith(wrong_hash) and bool(wrong_hash))},{len(content)}"
        for path, content in members.items()
    ]
    members[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]).encode()
    wheel = directory / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in members.items():
            member = zipfile.ZipInfo(path)
            mode = 0o755 if f".data/data/{programs}" in path else 0o644
            member.external_attr = (0o100000 | mode) << 16
            archive.writestr(member, content)
    return wheel


def _digest(content: bytes, wrong: bool) -> str:
    digest = hashlib.sha256(content + (b"?" if wrong else b"")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
