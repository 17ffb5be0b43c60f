"""What a launch leaves outside its directory when it is killed: session directories and shared memory.

TMPDIR stays the user's: another one would change the environment the program is measured in, could
sit on another file system, and a longer path breaks the 107 bytes of Unix sockets. So what launchers and
libraries leave is recognised, and only where it cannot be anybody else's: by a name that holds the number
of a process of the launch, or because a process of the launch had it open or mapped. MPICH's topologies, and
shared memory on nodes where mpiric does not run, are recognised by a name of a known form that appeared
during the launch and whose maker is certainly gone.
"""
# ruff: noqa: PTH108, PTH118

import os
import re
import time
from collections.abc import Collection, Iterable, Iterator
from math import inf

from mpiric.host.processes.proc import TICKS_PER_S, all_pids, is_alive, read_bytes, read_stat
from mpiric.host.processes.segments import SHARED_MEMORY, FileNames, held_by, is_segment, own_files

_TEMPORARY = "/tmp"  # noqa: S108
_SESSION_STEMS = ("ompi.", "prte.", "prtrn.", "prun.", "pmix", "openmpi-sessions-", "jf.", "dvm.", "pid.")

# MPICH's proxy exports the topology for its ranks and removes the file unless it is killed.
_TOPOLOGY = re.compile(r"hydra_hwloc_xmlfile_\w{6}")
_CLOCK_S = 0.1  # margin between the clocks of files and of processes
_PROXIES = (b"hydra_pmi_proxy", b"hydra_bstrap_pr", b"pmi_proxy")  # names as the kernel cuts them


class Leftovers:
    """Remembers what was there before a launch, so that only what appeared since can be removed."""

    def __init__(self, environment: "dict[str, str]") -> None:
        names = ("TMPDIR", "TMP", "TEMP", "OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base")
        self._bases = {environment[name] for name in names if environment.get(name)} or {_TEMPORARY}
        self._segments = own_files(SHARED_MEMORY, is_segment)
        self._topologies = own_files(_TEMPORARY, _is_topology)
        self._is_seen = True  # processes of the launch are looked at while they live
        self._held: FileNames = set()  # segments that they had open or mapped

    def note(self, pids: Collection[int]) -> bool:
        """Note the segments that processes of the launch hold; whether those are all that have appeared."""
        unknown = own_files(SHARED_MEMORY, is_segment) - self._segments - self._held
        held = held_by(pids, unknown)
        self._held |= held
        return held == unknown

    def remove(self, pids: set[int]) -> None:
        """Remove what a failed launch left, once no process of it lives; ``pids`` were its own."""
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
    """Remove what launches of this user left on this node since a time, in seconds of the system's clock.

    A launch of mpiric starts this on the nodes where mpiric itself does not run.
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
    """Return when a file was changed last; infinity where it is gone."""
    try:
        status = os.stat(os.path.join(directory, name), follow_symlinks=False)  # noqa: PTH116
    except OSError:
        return inf
    return max(status.st_mtime, status.st_ctime)


def _dead_makers(bases: Iterable[str], since_s: float) -> Iterator[int]:
    """Yield the pids of ended processes named by young sessions; ``jf.N`` and ``dvm.N`` number jobs."""
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
    """Return when the oldest living proxy of MPICH's launcher was started: it made no older topology."""
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
        return os.stat(f"/proc/{pid}").st_uid == os.geteuid()  # noqa: PTH116
    except OSError:
        return False


def _remove_sessions(base: str, dead: set[int], *, deeper: bool = True) -> None:
    """Remove session directories of this user whose name holds the number of a process that was ours.

    ``ompi.HOST.UID/pid.PID`` (Open MPI 4), ``prtrn.PID`` and ``prte.HOST.PID.UID`` (PRRTE),
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
                _remove(entry)
            elif deeper and entry.is_dir(follow_symlinks=False) and entry.name.startswith("ompi."):
                _remove_sessions(entry.path, dead, deeper=False)
        except OSError:
            continue


def _numbers(name: str) -> set[int]:
    words = name.replace("_", ".").replace("-", ".").split(".")
    if words[-1] == str(os.geteuid()):
        words.pop()  # ".UID" closes the names of Open MPI and PRRTE and is no process
    return {int(word) for word in words if word.isdecimal()}


def _remove(entry: "os.DirEntry[str]") -> None:
    if entry.is_dir(follow_symlinks=False):
        from mpiric.host.owned_files import remove_tree  # only ever needed after a launch that went wrong

        remove_tree(entry.path)
    else:
        _unlink(entry.path)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
