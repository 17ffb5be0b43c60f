"""What a launch leaves outside its directory when it is killed: session directories and shared memory.

TMPDIR stays the user's: another one would change the environment the program is measured in, could
sit on another file system, and a longer path breaks the 107 bytes of Unix sockets. So what the
launchers leave there is recognised by the process number they write into its name.
"""
# ruff: noqa: PTH108, PTH115, PTH118, PTH208

import os

from mpiric.host.processes.proc import all_pids, is_alive, read_bytes

_SHARED_MEMORY = "/dev/shm"  # noqa: S108
_SESSION_STEMS = ("ompi.", "prte.", "prtrn.", "prun.", "pmix", "openmpi-sessions-", "jf.", "dvm.", "pid.")


class Leftovers:
    """Remembers what was there before a launch, so that only what appeared since can be removed."""

    def __init__(self, environment: "dict[str, str]") -> None:
        names = ("TMPDIR", "TMP", "TEMP", "OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base")
        self._bases = {environment[name] for name in names if environment.get(name)} or {"/tmp"}  # noqa: S108
        self._before = _shared_memory()

    def remove(self, pids: set[int]) -> None:
        """Remove what a failed launch left, once no process of it lives; ``pids`` were its own."""
        dead = {pid for pid in pids if not is_alive(pid)}
        for base in self._bases:
            _remove_sessions(base, dead)
        appeared = _shared_memory() - self._before
        for name, _ in appeared - _in_use(appeared):
            _unlink(os.path.join(_SHARED_MEMORY, name))


def _shared_memory() -> set[tuple[str, int]]:
    """(name, inode) of this user's segments."""
    own, found = os.getuid(), set()
    try:
        with os.scandir(_SHARED_MEMORY) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if status.st_uid == own and entry.is_file(follow_symlinks=False):
                    found.add((entry.name, status.st_ino))
    except OSError:
        pass
    return found


def _in_use(segments: set[tuple[str, int]]) -> set[tuple[str, int]]:
    """Segments that a living process has open or mapped.

    Open files first: a process that closes its descriptor after mapping is then met by its mapping.
    """
    if not segments:
        return set()
    used: set[str] = set()
    pids = all_pids()
    for pid in pids:
        used |= {path.removeprefix(_SHARED_MEMORY + "/") for path in _open_files(pid)}
    mapped = b"\n".join(read_bytes(f"/proc/{pid}/maps") for pid in pids)
    return {
        (name, inode) for name, inode in segments if name in used or f"/{name}\n".encode() in mapped + b"\n"
    }


def _open_files(pid: int) -> list[str]:
    found = []
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            if target.startswith(_SHARED_MEMORY + "/"):
                found.append(target)
    except OSError:
        pass
    return found


def _remove_sessions(base: str, dead: set[int], *, deeper: bool = True) -> None:
    """Session directories of this user whose name holds the number of a process that was ours.

    ``ompi.HOST.UID/pid.PID`` (Open MPI 4), ``prtrn.PID`` and ``prte.HOST.PID.UID`` (PRRTE),
    ``pmix_*_PID`` (PMIx).
    """
    try:
        entries = [entry for entry in os.scandir(base) if entry.name.startswith(_SESSION_STEMS)]
    except OSError:
        return
    for entry in entries:
        try:
            if entry.is_symlink() or entry.stat().st_uid != os.getuid():
                continue
            if dead & _numbers(entry.name):
                _remove(entry)
            elif deeper and entry.is_dir() and entry.name.startswith("ompi."):
                _remove_sessions(entry.path, dead, deeper=False)
        except OSError:
            continue


def _numbers(name: str) -> set[int]:
    words = name.replace("_", ".").replace("-", ".").split(".")
    if words[-1] == str(os.getuid()):
        words.pop()  # ".UID" closes the names of Open MPI and PRRTE and is no process
    return {int(word) for word in words if word.isdigit()}


def _remove(entry: "os.DirEntry[str]") -> None:
    import shutil  # only ever needed after a launch that went wrong

    if entry.is_dir():
        shutil.rmtree(entry.path, ignore_errors=True)
    else:
        _unlink(entry.path)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
