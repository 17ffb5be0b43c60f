"""The machine mpiric runs on."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

import psutil

from mpiric.host.command_log import log_cached, log_end, log_start
from mpiric.host.facts.answers import answer_key, keep, recall
from mpiric.host.facts.elf import read_elf, read_exported_symbols, read_imported_symbols
from mpiric.host.facts.hwloc import export_xml
from mpiric.host.files import LARGEST_TEXT_BYTES, open_and_read
from mpiric.host.host import TIMED_OUT, Changes, Completed, Elf, Space
from mpiric.host.user_directories import probe_environment
from mpiric.model.errors import MpiricError


class LocalHost:
    """Answers from the running system; what may not be read counts as absent."""

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment of this process."""
        return os.environ

    @property
    def python(self) -> str:
        """The running interpreter."""
        return sys.executable

    def run(
        self,
        argv: Sequence[str],
        *,
        environment: Changes = None,
        timeout_s: float = 20,
        working_directory: str = "/",
    ) -> Completed:
        """Run a short command without input, in a session of its own so that a time-out ends all of it."""
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
        except (OSError, ValueError) as error:  # ValueError: a word or variable that holds a NUL
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
        """The answer kept for these files, else that of `run`; only answers of success are kept."""
        key = answer_key(argv, environment or {}, files, os.environ, identity)
        kept = recall(key, os.environ) if key else None
        if kept is not None:
            log_cached(argv)
            return kept
        answer = self.run(
            argv, environment=environment, timeout_s=timeout_s, working_directory=working_directory
        )
        if key and answer.status == 0:
            keep(key, answer, os.environ)
        return answer

    def read_text(self, path: str) -> str | None:
        """Contents of a text file; None when it cannot be read, is not a regular file, or is too large."""
        try:
            return open_and_read(path, "text file", LARGEST_TEXT_BYTES).decode(errors="replace")
        except (OSError, ValueError, MpiricError):
            return None

    def list_dir(self, path: str) -> tuple[str, ...]:
        """Names in a directory, sorted; empty when it cannot be read."""
        try:
            return tuple(sorted(os.listdir(path)))  # noqa: PTH208 names are wanted, not paths
        except (OSError, ValueError):
            return ()

    def is_file(self, path: str) -> bool:
        """Whether a regular file, or a link to one, is there."""
        return os.path.isfile(path)  # noqa: PTH113 never raises, whatever the path

    def is_executable(self, path: str) -> bool:
        """Whether it is a file this user may execute."""
        return self.is_file(path) and os.access(path, os.X_OK)

    def real_path(self, path: str) -> str:
        """The path with every link resolved."""
        try:
            return os.path.realpath(path)
        except (OSError, ValueError):  # a text that cannot be a path
            return path

    def which(self, name: str, *, by_shell: bool = False) -> str | None:
        """Where a command is found on PATH, as an absolute path."""
        environment = os.environ if by_shell else probe_environment(os.environ)
        found = shutil.which(name, path=environment.get("PATH"))
        return os.path.abspath(found) if found else None  # noqa: PTH100 links stay as they are

    def space(self, path: str) -> Space | None:
        """Room in the file system under a path."""
        try:
            facts = os.statvfs(path)
        except (OSError, ValueError):
            return None
        return Space(facts.f_blocks * facts.f_frsize, facts.f_bavail * facts.f_frsize)

    def attribute(self, path: str, name: str) -> bytes | None:
        """Value of an extended attribute; links are followed."""
        try:
            return os.getxattr(path, name)
        except (OSError, ValueError):
            return None

    def addresses(self) -> Mapping[str, tuple[str, ...]]:
        """IPv4 and IPv6 addresses of each network interface."""
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
        """Hwloc's XML of this machine or of another one's description."""
        return export_xml(source, libraries)

    def elf(self, path: str) -> Elf | None:
        """Dynamic section of an ELF file."""
        return read_elf(path)

    def exported_symbols(self, path: str) -> frozenset[str]:
        """Names a shared object defines for others to use."""
        return read_exported_symbols(path)

    def imported_symbols(self, path: str) -> frozenset[str]:
        """Names an executable or shared object takes from others."""
        return read_imported_symbols(path)


def _end(process: "subprocess.Popen[str]") -> str:
    """Kill the process group; what it had printed by then."""
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        process.kill()
    return process.communicate()[0]
