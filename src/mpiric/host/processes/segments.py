"""Shared memory segments of MPI libraries. Their owner is known only while a process has them open or mapped.

The names contain neither the process nor the launch. The keeper imports this file: its imports must be
fast.
"""
# ruff: noqa: PTH115, PTH116, PTH208

import ctypes
import os
import re
import struct
from collections.abc import Callable, Collection

from mpiric.host.processes.proc import read_bytes

SHARED_MEMORY = "/dev/shm"  # noqa: S108

# Names in /dev/shm: MPICH and Intel MPI, UCX, libfabric, PSM, then Open MPI with host and user.
_SEGMENT = re.compile(
    r"(?:mpich_(?:shm|vci)_[0-9a-f]+_\d+|mpich_shar_tmp\w{6}|Intel_MPI_\w{6}"
    r"|ucx_shm_posix_[0-9a-f]+|fi_shm_\S+|psm[23]_shm\.\S+"
    r"|(?:vader|sm)_segment\.(?P<host>.+)\.(?P<uid>\d+)\.[0-9a-f]+\.\d+"
    r"|osc_(?:sm|rdma)\.(?P<osc_host>.+)\.[0-9a-f]+(?:\.\d+)*)"
)
_CREATED = 0x100 | 0x80  # IN_CREATE, IN_MOVED_TO
_EVENT = struct.Struct("iIII")

FileNames = set[tuple[str, int]]  # (name, inode) of files of one directory


def is_segment(name: str) -> bool:
    """Return whether a name may be a segment of an MPI library of this user on this host."""
    form = _SEGMENT.fullmatch(name)
    if form is None:
        return False
    host = form["host"] or form["osc_host"]
    is_here = host is None or host.split(".")[0] == os.uname().nodename.split(".")[0]
    return is_here and (form["uid"] is None or int(form["uid"]) == os.geteuid())


def own_files(directory: str, is_known: Callable[[str], bool]) -> FileNames:
    """Return the regular files of this user in a directory whose names have a known form."""
    user, names = os.geteuid(), set()
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if is_known(entry.name) and entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    if status.st_uid == user:
                        names.add((entry.name, status.st_ino))
    except OSError:
        pass
    return names


def held_by(pids: Collection[int], segments: FileNames) -> FileNames:
    """Return the segments that one of the processes has open or mapped.

    Open files of all processes are read first, so that a process that closes its descriptor after mapping
    is found by its mapping.
    """
    if not segments:
        return set()
    inodes = dict(segments)
    held: FileNames = set()
    for pid in pids:
        held |= _open_in(pid, inodes)
    for pid in pids:
        for line in read_bytes(f"/proc/{pid}/maps").split(b"\n"):
            fields = line.split(None, 5)  # address, access, offset, device, inode, path
            name = fields[5].rpartition(b"/")[2].decode(errors="replace") if len(fields) == 6 else ""
            if name in inodes and int(fields[4]) == inodes[name]:
                held.add((name, inodes[name]))
    return held


def _open_in(pid: int, inodes: dict[str, int]) -> FileNames:
    held: FileNames = set()
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return held
    for descriptor in descriptors:
        path = f"/proc/{pid}/fd/{descriptor}"
        try:
            name = os.readlink(path).rpartition("/")[2]
            if name in inodes and os.stat(path).st_ino == inodes[name]:
                held.add((name, inodes[name]))
        except OSError:
            continue  # closed meanwhile
    return held


class Arrivals:
    """Notification for new files in /dev/shm: ``descriptor`` becomes readable; -1 without inotify."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None)
        self.descriptor: int = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self.descriptor >= 0:
            libc.inotify_add_watch(self.descriptor, SHARED_MEMORY.encode(), _CREATED)

    def take(self) -> bool:
        """Return whether files with names of segments were created since the last call."""
        is_any = False
        try:
            while events := os.read(self.descriptor, 1 << 16):
                begin = 0
                while begin < len(events):
                    _, _, _, length = _EVENT.unpack_from(events, begin)
                    begin += _EVENT.size
                    name = events[begin : begin + length].rstrip(b"\0").decode(errors="replace")
                    is_any = is_any or not name or is_segment(name)  # no name: events were lost
                    begin += length
        except OSError:  # nothing more
            pass
        return is_any

    def close(self) -> None:
        """Stop the notification."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
