"""Remains of killed launches outside their directory: session directories and shared memory.

TMPDIR is not changed: that would alter the measured environment, might select another file system, and a
longer path exceeds the limit of 107 bytes for Unix sockets. Remains are therefore recognised, only if they
certainly belong to the launch: their name contains the pid of one of its processes, or one of its processes
had them open or mapped. MPICH's topology files, and shared memory on nodes without mpiric, are recognised by
a known form of name, if they appeared during the launch and their creator has ended.

The owner of a shared memory segment is known only while a process has it open or mapped. Its name contains
neither the process nor the launch. The keeper imports this file: its imports must be fast.
"""
# ruff: noqa: PTH108, PTH115, PTH116, PTH118, PTH208

import ctypes
import os
import re
import signal
import struct
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from math import inf

from mpiric.host.processes.proc import (
    TICKS_PER_S,
    all_pids,
    carrying,
    environment_of,
    is_alive,
    read_bytes,
    read_stat,
    signal_one,
)

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


_TEMPORARY = "/tmp"  # noqa: S108
_SESSION_STEMS = ("ompi.", "prte.", "prtrn.", "prun.", "pmix", "openmpi-sessions-", "jf.", "dvm.", "pid.")

# MPICH's proxy exports the topology for its ranks; it removes the file unless it is killed.
_TOPOLOGY = re.compile(r"hydra_hwloc_xmlfile_\w{6}")
_CLOCK_S = 0.1  # tolerance between file times and process times
_PROXIES = (b"hydra_pmi_proxy", b"hydra_bstrap_pr", b"pmi_proxy")  # process names, truncated by the kernel


class Leftovers:
    """State before a launch, so that only later files are removed."""

    def __init__(self, environment: "dict[str, str]") -> None:
        names = ("TMPDIR", "TMP", "TEMP", "OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base")
        self._bases = {environment[name] for name in names if environment.get(name)} or {_TEMPORARY}
        self._segments = own_files(SHARED_MEMORY, is_segment)
        self._topologies = own_files(_TEMPORARY, _is_topology)
        self._is_seen = True  # processes of the launch are observed
        self._held: FileNames = set()  # segments that these processes had open or mapped

    def note(self, pids: Collection[int]) -> bool:
        """Record the segments that processes of the launch hold; return whether no others are new."""
        unknown = own_files(SHARED_MEMORY, is_segment) - self._segments - self._held
        held = held_by(pids, unknown)
        self._held |= held
        return held == unknown

    def remove(self, pids: set[int]) -> None:
        """Remove remains of a failed launch after its processes ``pids`` have ended."""
        dead = {pid for pid in pids if not is_alive(pid)}
        for base in self._bases:
            _remove_sessions(base, dead)
        appeared = own_files(SHARED_MEMORY, is_segment) - self._segments
        if self._is_seen:
            appeared &= self._held
        for name, _ in appeared - held_by(all_pids(), appeared):
            _unlink(os.path.join(SHARED_MEMORY, name))
        exported = own_files(_TEMPORARY, _is_topology) - self._topologies
        first_proxy_s = _first_proxy_s() if exported else inf
        for name, _ in exported:
            if _changed_s(_TEMPORARY, name) < first_proxy_s:
                _unlink(os.path.join(_TEMPORARY, name))


def remove_recent(since_s: float) -> None:
    """Remove remains of this user's launches on this node since a time (seconds since the epoch).

    Launches of mpiric run this on nodes without mpiric itself.
    """
    leftovers = Leftovers(dict(os.environ))
    leftovers._is_seen = False
    leftovers._segments = {
        file for file in leftovers._segments if _changed_s(SHARED_MEMORY, file[0]) < since_s
    }
    leftovers._topologies = {
        file for file in leftovers._topologies if _changed_s(_TEMPORARY, file[0]) < since_s
    }
    leftovers.remove(set(_dead_makers(leftovers._bases, since_s)))


def _changed_s(directory: str, name: str) -> float:
    """Return the last change of a file; infinity if it does not exist."""
    try:
        status = os.stat(os.path.join(directory, name), follow_symlinks=False)
    except OSError:
        return inf
    return max(status.st_mtime, status.st_ctime)


def _dead_makers(bases: Iterable[str], since_s: float) -> Iterator[int]:
    """Yield the pids of ended processes in the names of recent sessions, except ``jf.N`` and ``dvm.N``."""
    for base in bases:
        try:
            entries = [entry for entry in os.scandir(base) if entry.name.startswith(_SESSION_STEMS)]
            young = [e for e in entries if e.stat(follow_symlinks=False).st_mtime >= since_s]
        except OSError:
            continue
        for entry in young:
            if not entry.name.startswith(("jf.", "dvm.")):
                yield from (number for number in _numbers(entry.name) if not is_alive(number))


def _is_topology(name: str) -> bool:
    return _TOPOLOGY.fullmatch(name) is not None


def _first_proxy_s() -> float:
    """Return the start time of the oldest running proxy of MPICH: older topology files are not its own."""
    booted_s = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    proxies = (
        stat
        for pid in all_pids()
        if read_bytes(f"/proc/{pid}/comm").strip().startswith(_PROXIES) and _is_own_process(pid)
        if (stat := read_stat(pid)) is not None
    )
    return min((booted_s + stat.start_ticks / TICKS_PER_S for stat in proxies), default=inf) - _CLOCK_S


def _is_own_process(pid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.geteuid()
    except OSError:
        return False


def _remove_sessions(base: str, dead: set[int], *, deeper: bool = True) -> None:
    """Remove session directories of this user whose name contains the pid of a process of the launch.

    Forms: ``ompi.HOST.UID/pid.PID`` (Open MPI 4), ``prtrn.PID`` and ``prte.HOST.PID.UID`` (PRRTE),
    ``pmix_*_PID`` (PMIx).
    """
    try:
        entries = [entry for entry in os.scandir(base) if entry.name.startswith(_SESSION_STEMS)]
    except OSError:
        return
    for entry in entries:
        try:
            if entry.is_symlink() or entry.stat(follow_symlinks=False).st_uid != os.geteuid():
                continue
            if dead & _numbers(entry.name):
                if entry.is_dir(follow_symlinks=False):
                    from mpiric.host.owned_files import remove_tree  # only needed after a failed launch

                    remove_tree(entry.path)
                else:
                    _unlink(entry.path)
            elif deeper and entry.is_dir(follow_symlinks=False) and entry.name.startswith("ompi."):
                _remove_sessions(entry.path, dead, deeper=False)
        except OSError:
            continue


def _numbers(name: str) -> set[int]:
    fields = name.replace("_", ".").replace("-", ".").split(".")
    if fields[-1] == str(os.geteuid()):
        fields.pop()  # names of Open MPI and PRRTE end with the uid, which is not a pid
    return {int(word) for word in fields if word.isdecimal()}


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


KEEPER_WORD = "mpiric-keeper"  # last argument of every keeper's command line

_POLL_S = 0.03


def end_marked(name: str, value: str, grace_s: float) -> set[int]:
    """Terminate all processes whose environment contains ``name=value``, first with SIGTERM, then SIGKILL.

    Returns the processes. The kernel has already sent SIGTERM to the launcher itself (PDEATHSIG).
    """
    start_s = time.monotonic()
    signalled: set[int] = set()
    met: set[int] = set()
    while pids := carrying(name, value):
        met.update(pids)
        elapsed = time.monotonic() - start_s
        if elapsed > grace_s + 5.0:
            break
        if elapsed >= grace_s:
            _send(pids, signal.SIGKILL)
        elif elapsed >= grace_s / 2:
            _send([pid for pid in pids if pid not in signalled], signal.SIGTERM)
            signalled.update(pids)
        time.sleep(_POLL_S)
    return met


def mark_of(pid: int, launch_number: int) -> str:
    """Return the mark of a launch: identity of the process that started it, and number of the launch."""
    stat = read_stat(pid)
    return f"{pid}.{stat.start_ticks if stat else 0}.{launch_number}"


def end_abandoned(name: str) -> list[int]:
    """Kill processes of launches whose mpiric and keeper were both killed; return them.

    Only processes of the same pid namespace are considered.
    """
    abandoned = [pid for pid in all_pids() if _is_abandoned(pid, name)]
    _send(abandoned, signal.SIGKILL)
    return abandoned


def _is_abandoned(pid: int, name: str) -> bool:
    mark = environment_of(pid).get(name.encode(), b"").decode(errors="replace")
    fields = mark.split(".")
    if len(fields) != 3 or not fields[0].isdigit() or not fields[2].isdigit():
        return False
    if mark == mark_of(int(fields[0]), int(fields[2])):  # its mpiric is still running
        return False
    return _number_space(pid) == _number_space(os.getpid()) and not _is_kept(pid)


def _number_space(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return f"unknown of {pid}"


def _is_kept(pid: int) -> bool:
    """Return whether a living keeper is an ancestor of a process, which will end it."""
    while (stat := read_stat(pid)) is not None and stat.parent > 1:
        pid = stat.parent
        if read_bytes(f"/proc/{pid}/cmdline").rstrip(b"\0").endswith(KEEPER_WORD.encode()):
            return True
    return False


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        signal_one(pid, number)
