"""Input of a command that is run many times: pipes are read once, and every run gets a copy."""

import os
import re
import select
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mpiric.cli._errors import say
from mpiric.host.processes.keeper_launch import inherited_descriptors
from mpiric.model.errors import MpiricError

_LIMIT_BYTES = 256 << 20  # limit for the content of one pipe; larger input belongs into a file
_LIMIT_S = 300.0  # time limit for reading one pipe to its end
_PATIENCE_S = 0.5
_REPORT_S = 2.0
_PIECE = 1 << 16
_NAMED = re.compile(r"/(?:dev|proc/self)/fd/(\d+)(?!\d)")
_HINT = "write it into a file first and redirect that: mpiric ... < FILE"


@contextmanager
def piped_input(argv: Sequence[str]) -> Iterator[str]:
    """Yield the path of a file with standard input; "" for a terminal, /dev/null, a closed or a silent one.

    A redirected file is named itself. A pipe is read to its end first, unless nothing comes: under ssh and in
    scripts standard input is often a pipe that nobody ever writes to or closes. Pipes that the command names
    as /dev/fd/N are read as well and replaced by files under the same number. The copies have no name in
    the file system, so that nothing is left of them however this process ends.
    Raises MpiricError for input that is too large or does not end, and for a pipe to be written into.
    """
    for number in named_descriptors(argv):
        _replace_pipe(number)
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError, AttributeError):
        yield ""
        return
    if stat.S_ISREG(mode):
        path = Path(f"/proc/self/fd/{descriptor}").resolve()
        if os.lseek(descriptor, 0, os.SEEK_CUR) == 0 and _is_same(path, descriptor):
            yield str(path)
            return
    elif not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        yield ""
        return
    elif not select.select([descriptor], [], [], _PATIENCE_S)[0]:
        say(f"standard input is a pipe and nothing came within {_PATIENCE_S:g} s: runs have no input", _HINT)
        yield ""
        return
    copy = _copy(descriptor, "standard input")
    try:
        os.set_inheritable(copy, True)  # noqa: FBT003 - for the keeper, which gives every launch a fresh view of it
        yield f"/proc/self/fd/{copy}" if os.fstat(copy).st_size else ""
    finally:
        os.close(copy)


def named_descriptors(argv: Sequence[str]) -> list[int]:
    """Return the inherited descriptors that a command names, as a shell does for `<(...)`."""
    named = {int(number) for word in argv for number in _NAMED.findall(word)}
    return sorted(named.intersection(inherited_descriptors()))


def refuse_descriptors(argv: Sequence[str]) -> None:
    """Raise MpiricError for a command that names descriptors of this process and is to run elsewhere."""
    for number in named_descriptors(argv):
        raise MpiricError(
            f"/dev/fd/{number} of the command exists in this shell only, not in a job",
            hint="write it into a file on a shared file system and pass its path instead of <(...)",
        )


def _replace_pipe(number: int) -> None:
    """Replace an inherited pipe by a copy of its content; leave other descriptors as they are."""
    name = f"/dev/fd/{number}"
    mode = os.fstat(number).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return
    flags = int(Path(f"/proc/self/fdinfo/{number}").read_text().split("flags:\t")[1].split()[0], 8)
    if stat.S_ISFIFO(mode) and flags & os.O_ACCMODE != os.O_RDONLY:
        raise MpiricError(
            f"{name} of the command is a pipe that it writes into, and every run would write there",
            hint="let it write into a file instead of >(...), and process that file afterwards",
        )
    copy = _copy(number, name)
    os.dup2(copy, number, inheritable=True)
    os.close(copy)


def _copy(source: int, name: str) -> int:
    """Copy the rest of a descriptor's input into a file without a name; return a descriptor to read it."""
    directory = tempfile.gettempdir()
    limit_bytes = min(_LIMIT_BYTES, shutil.disk_usage(directory).free // 2)
    start_s = time.monotonic()
    next_report_s = _REPORT_S
    with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
        while True:
            left_s = start_s + _LIMIT_S - time.monotonic()
            ready = select.select([source], [], [], max(0.0, min(left_s, 0.5)))[0]
            piece = os.read(source, _PIECE) if ready else None
            if piece == b"":
                return os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDONLY | os.O_CLOEXEC)
            if file.tell() + len(piece or b"") > limit_bytes:
                size = f"{limit_bytes / (1 << 20):.3g} MiB"
                raise MpiricError(
                    f"{name} is a pipe with more than {size}; it is copied into {directory}", hint=_HINT
                )
            unwritten = memoryview(piece or b"")
            while unwritten:
                unwritten = unwritten[os.write(file.fileno(), unwritten) :]
            elapsed_s = time.monotonic() - start_s
            if elapsed_s > _LIMIT_S:
                raise MpiricError(f"{name} is a pipe that did not end within {_LIMIT_S:g} s", hint=_HINT)
            if elapsed_s > next_report_s:
                say(f"reading {name}: {file.tell()} bytes after {elapsed_s:.0f} s, waiting for its end")
                next_report_s *= 2


def _is_same(path: Path, descriptor: int) -> bool:
    """Return whether a path names the file of a descriptor; the file of a here-document has been deleted."""
    try:
        status = path.stat()
    except OSError:
        return False
    return os.path.samestat(status, os.fstat(descriptor))
