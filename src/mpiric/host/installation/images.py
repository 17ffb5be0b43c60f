"""Self-extracting files: a script followed by a SquashFS image or a compressed tar archive."""

import gzip
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from mpiric.host.command_log import log_start
from mpiric.host.user_directories import probe_environment
from mpiric.model.errors import NoRoomError, writing
from mpiric.model.pack import Content

SQUASHFS, TAR = "squashfs", "tar"
_LIMIT_S = 3600
_PROGRAM_MODE, _FILE_MODE = 0o755, 0o644
_ELSEWHERE = "name another place with -o"


def best_format() -> str:
    """Return SquashFS if mksquashfs is installed, else tar."""
    return SQUASHFS if shutil.which("mksquashfs") else TAR


def write_image(
    contents: Iterable[Content], target: Path, image_format: str, begin: Callable[[str, int], bytes]
) -> None:
    """Write the script that ``begin`` returns for the image's digest and size, followed by the image.

    Files are staged in the directory of the target, as hard links if the file system supports them. The
    result is not more readable than any file in it. Raises NoRoomError.
    """
    contents = list(contents)
    with (
        writing(target, _ELSEWHERE),
        tempfile.TemporaryDirectory(prefix=".mpiric-pack-", dir=target.parent.absolute()) as work,
    ):
        root, image, complete = Path(work, "root"), Path(work, "image"), Path(work, "whole")
        unpacked_bytes = _stage(contents, root)
        (_squash if image_format == SQUASHFS else _archive)(root, image)
        with image.open("rb") as stream:
            digest = _sha256(stream.read)
            stream.seek(0)
            with complete.open("wb") as file:
                file.write(begin(digest[:16], unpacked_bytes))
                shutil.copyfileobj(stream, file, 1 << 20)
        # The mode of an image: group and others get access only if they may read every file in it.
        mode = _PROGRAM_MODE
        for content in contents:
            if content.source:
                source_mode = Path(content.source).stat().st_mode
                mode &= ~sum(bits for bits in (0o070, 0o007) if not source_mode & bits & 0o444)
        complete.chmod(mode)
        complete.replace(target)


def _stage(contents: Iterable[Content], root: Path) -> int:
    """Create the files under their names; return their total size in bytes."""
    total = 0
    root.mkdir(mode=_PROGRAM_MODE)
    for content in contents:
        path = root / content.name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content.link:
            path.symlink_to(content.link)
        elif content.data is not None:
            path.write_bytes(content.data)
            path.chmod(_PROGRAM_MODE if content.data[:4] == b"\x7fELF" else _FILE_MODE)
        else:
            try:
                os.link(content.source, path)
            except OSError:  # another file system, or a file of another user
                shutil.copy2(content.source, path)
        total += path.lstat().st_size
    return total


def _squash(root: Path, image: Path) -> None:
    """Compress with gzip, which every reader of SquashFS supports; higher levels gain little."""
    argv = [
        "mksquashfs",
        str(root),
        str(image),
        "-noappend",
        "-no-xattrs",
        "-all-root",
        "-comp",
        "gzip",
        "-Xcompression-level",
        "4",
        "-no-progress",
    ]
    log_start(argv)
    done = subprocess.run(
        argv,
        env=probe_environment(os.environ),
        cwd="/",
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise NoRoomError(f"mksquashfs could not write the image: {' '.join(last)}", hint=_ELSEWHERE)


def _archive(root: Path, image: Path) -> None:
    def of_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        return member

    with (
        image.open("wb") as file,
        gzip.GzipFile("", "wb", 4, file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        archive.add(root, ".", filter=of_root)


def _sha256(read: Callable[[int], bytes]) -> str:
    digest = hashlib.sha256()
    while block := read(1 << 20):
        digest.update(block)
    return digest.hexdigest()
