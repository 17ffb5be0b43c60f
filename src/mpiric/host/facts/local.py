"""Host implementation for the local machine, with a cache of command results between runs of mpiric.

A result is valid while the files that the command depends on are unchanged. There is one small file per
command in the XDG cache directory. It is replaced atomically: of two simultaneous writers one wins, and both
results are correct. A file that cannot be read or written is ignored.
"""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import psutil

from mpiric.host import user_directories
from mpiric.host.command_log import log_cached, log_end, log_start
from mpiric.host.facts.elf import read_elf, read_exported_symbols, read_imported_symbols
from mpiric.host.facts.hwloc import export_xml
from mpiric.host.files import LARGEST_TEXT_BYTES, open_and_read
from mpiric.host.host import TIMED_OUT, Changes, Completed, Elf, Space
from mpiric.host.user_directories import probe_environment
from mpiric.model.errors import MpiricError
from mpiric.model.json_text import parse_json

_FORMAT = 1
_DECIDING = ("LD_LIBRARY_PATH", "LD_PRELOAD", "PATH")  # variables that affect whether a library can be loaded


def answer_key(
    argv: Sequence[str],
    environment: Mapping[str, str | None],
    files: Sequence[str],
    inherited: Mapping[str, str],
    identity: Sequence[str] = (),
) -> str:
    """Return the cache key of a command: argv, variables, and the state of the files that it depends on.

    ``identity`` replaces argv and variables. The key is "" if one of the files does not exist; the result
    is then not cached.
    """
    stamps = []
    for path in files:
        try:
            real = os.path.realpath(path)
            facts = os.stat(real)  # noqa: PTH116 like realpath
        except (OSError, ValueError):
            return ""
        stamps.append([real, facts.st_size, facts.st_mtime_ns, facts.st_ino])
    if identity:
        return json.dumps([_FORMAT, list(identity), stamps])
    surroundings = {name: inherited.get(name) for name in _DECIDING} | dict(environment)
    return json.dumps([_FORMAT, list(argv), surroundings, stamps], sort_keys=True)


def recall(key: str, inherited: Mapping[str, str]) -> Completed | None:
    """Return the cached result of a key, None without a trustworthy one."""
    try:
        entry = parse_json(user_directories.read_cached(_path(key, inherited)) or "{}")
        if entry["key"] != key:
            return None
        return Completed(int(entry["status"]), str(entry["stdout"]), str(entry["stderr"]))
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def keep(key: str, answer: Completed, inherited: Mapping[str, str]) -> None:
    """Write a result to the cache, if possible."""
    if path := _path(key, inherited):
        entry = {"key": key, "status": answer.status, "stdout": answer.stdout, "stderr": answer.stderr}
        user_directories.write_cached(path, json.dumps(entry))


def _path(key: str, inherited: Mapping[str, str]) -> str:
    """Return the cache file of a key, "" without a cache directory."""
    root = user_directories.cache_directory(inherited)
    return f"{root}/answers/{hashlib.sha256(key.encode()).hexdigest()[:32]}.json" if root else ""


class LocalHost:
    """Host that reads the running system; unreadable items count as absent."""

    @property
    def environ(self) -> Mapping[str, str]:
        """Return the environment of this process."""
        return os.environ

    @property
    def python(self) -> str:
        """Return the path of the running interpreter."""
        return sys.executable

    def run(
        self,
        argv: Sequence[str],
        *,
        environment: Changes = None,
        timeout_s: float = 20,
        working_directory: str = "/",
    ) -> Completed:
        """Run a short command without input, in its own session: a time-out kills all its processes."""
        log_start(argv, environment=environment)
        begun_s = time.monotonic()
        try:
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=probe_environment(os.environ, environment),
                cwd=working_directory,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: an argument or variable contains NUL
            log_end(argv, error, 0.0)
            return Completed(127, "", str(error))
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            log_end(argv, "no answer", timeout_s)
            return Completed(TIMED_OUT, _end(process), f"no answer within {timeout_s:g} s")
        except BaseException:
            _end(process)
            raise
        log_end(argv, process.returncode, time.monotonic() - begun_s)
        return Completed(process.returncode, stdout, stderr)

    def run_cached(
        self,
        argv: Sequence[str],
        files: Sequence[str],
        *,
        environment: Changes = None,
        timeout_s: float = 20,
        identity: Sequence[str] = (),
        working_directory: str = "/",
    ) -> Completed:
        """Return the cached result for these files, else that from `run`, which is cached on success."""
        key = answer_key(argv, environment or {}, files, os.environ, identity)
        cached = recall(key, os.environ) if key else None
        if cached is not None:
            log_cached(argv)
            return cached
        answer = self.run(
            argv, environment=environment, timeout_s=timeout_s, working_directory=working_directory
        )
        if key and answer.status == 0:
            keep(key, answer, os.environ)
        return answer

    def read_text(self, path: str) -> str | None:
        """Return the text of a file; None if it is unreadable, not a regular file, or too large."""
        try:
            return open_and_read(path, "text file", LARGEST_TEXT_BYTES).decode(errors="replace")
        except (OSError, ValueError, MpiricError):
            return None

    def list_dir(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted; empty if it is unreadable."""
        try:
            return tuple(sorted(os.listdir(path)))  # noqa: PTH208 names are wanted, not paths
        except (OSError, ValueError):
            return ()

    def is_file(self, path: str) -> bool:
        """Return whether the path is a regular file or a link to one."""
        return os.path.isfile(path)  # noqa: PTH113 never raises, for any path

    def is_executable(self, path: str) -> bool:
        """Return whether the path is a file that this user may execute."""
        return self.is_file(path) and os.access(path, os.X_OK)

    def real_path(self, path: str) -> str:
        """Return the path with all links resolved."""
        try:
            return os.path.realpath(path)
        except (OSError, ValueError):  # the text is not a valid path
            return path

    def which(self, name: str, *, by_shell: bool = False) -> str | None:
        """Return the absolute path of a command in PATH."""
        environment = os.environ if by_shell else probe_environment(os.environ)
        path = shutil.which(name, path=environment.get("PATH"))
        return os.path.abspath(path) if path else None  # noqa: PTH100 keeps links

    def space(self, path: str) -> Space | None:
        """Return the size and free space of the file system that contains a path."""
        try:
            facts = os.statvfs(path)
        except (OSError, ValueError):
            return None
        return Space(facts.f_blocks * facts.f_frsize, facts.f_bavail * facts.f_frsize)

    def attribute(self, path: str, name: str) -> bytes | None:
        """Return the value of an extended attribute; links are followed."""
        try:
            return os.getxattr(path, name)
        except (OSError, ValueError):
            return None

    def addresses(self) -> Mapping[str, tuple[str, ...]]:
        """Return the IPv4 and IPv6 addresses of each network interface."""
        families = (socket.AF_INET, socket.AF_INET6)
        try:
            interfaces = psutil.net_if_addrs()
        except OSError:
            return {}
        return {
            name: tuple(entry.address for entry in entries if entry.family in families)
            for name, entries in interfaces.items()
        }

    def topology_xml(self, source: str = "", libraries: Sequence[str] = ()) -> str | None:
        """Return hwloc's XML of this machine or of another machine's description."""
        return export_xml(source, libraries)

    def elf(self, path: str) -> Elf | None:
        """Return the facts of an ELF file."""
        return read_elf(path)

    def exported_symbols(self, path: str) -> frozenset[str]:
        """Return the names that a shared object exports."""
        return read_exported_symbols(path)

    def imported_symbols(self, path: str) -> frozenset[str]:
        """Return the names that an executable or shared object imports."""
        return read_imported_symbols(path)


def _end(process: "subprocess.Popen[str]") -> str:
    """Kill the process group; return its output up to then."""
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        process.kill()
    return process.communicate()[0]


NAME_LIMIT_S = 5.0  # longest measurement of the name resolution


def own_name_s() -> float:
    """Return the time in which the name of this host is resolved, at most some seconds."""

    def resolve() -> None:
        with suppress(OSError):
            socket.getaddrinfo(socket.gethostname(), None)

    begin_s = time.monotonic()
    resolving = threading.Thread(target=resolve, daemon=True)
    resolving.start()
    resolving.join(NAME_LIMIT_S)
    return time.monotonic() - begin_s
