"""Start of a launch: fork, session, standard streams, signals as set by a shell, exec."""
# ruff: noqa: PTH110, PTH112, PTH113, PTH118, PTH208

import ctypes
import errno
import fcntl
import os
import signal
import stat
import time
from collections.abc import Mapping, Sequence

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)

# Python ignores these two signals; exec would pass that on to the program.
_BACK_TO_DEFAULT = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGCHLD,
)


class NotStartedError(Exception):
    """A file could not be opened; ``what`` is "program", "directory", "input" or "output"."""

    def __init__(self, what: str, path: str, number: int) -> None:
        super().__init__(f"{path}: {os.strerror(number)}")
        self.what = what
        self.errno = number


def adopt_orphans() -> None:
    """Become the parent of all descendants whose parent ends, in any session."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def find_program(word: str, directory: str, environment: Mapping[str, str]) -> str:
    """Return the file that a shell in ``directory`` would start for ``word``. Raises NotStartedError."""
    if "/" in word:
        candidates = [os.path.join(directory, word)]
    else:
        path = environment.get("PATH", os.defpath)
        candidates = [os.path.join(directory, part, word) for part in path.split(":")]
    number = errno.ENOENT
    for candidate in candidates:
        if os.path.isfile(candidate):
            if os.access(candidate, os.X_OK):
                return candidate
            number = errno.EACCES
    raise NotStartedError("program", word, number)


def _open(what: str, path: str, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise NotStartedError(what, path, error.errno or errno.EIO) from None


def inherited_descriptors() -> list[int]:
    """Return the inheritable descriptors other than the standard streams, in order."""
    numbers = sorted(int(name) for name in os.listdir("/proc/self/fd"))
    is_open = (number for number in numbers if number > 2 and os.path.exists(f"/proc/self/fdinfo/{number}"))
    return [number for number in is_open if os.get_inheritable(number)]


def _renew_descriptors() -> None:
    """Reopen inherited files that are only read, for this launch; close all other inherited descriptors.

    Otherwise all launches would share the position of an open file. Files open for writing, pipes and
    sockets belong to commands of the shell, not to a repeated launch.
    """
    source = os.fstat(0)
    for number in inherited_descriptors():
        flags = fcntl.fcntl(number, fcntl.F_GETFL)
        state = os.fstat(number)
        is_read = stat.S_ISREG(state.st_mode) and flags & os.O_ACCMODE == os.O_RDONLY
        is_input = state.st_nlink == 0 and os.path.samestat(state, source)  # copy of a pipe
        if not is_read or is_input:
            os.set_inheritable(number, False)  # noqa: FBT003
            continue
        fresh = os.open(f"/proc/self/fd/{number}", os.O_RDONLY)
        os.lseek(fresh, os.lseek(number, 0, os.SEEK_CUR), os.SEEK_SET)
        os.dup2(fresh, number)
        os.close(fresh)


class Files:
    """Standard streams of a launch, opened here so that errors can name the file."""

    def __init__(self, stdin: str, stdout: str, stderr: str) -> None:
        self.input = _open("input", stdin or os.devnull, os.O_RDONLY)
        try:
            fresh = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
            self.output = _open("output", stdout, fresh)
            self.error = os.dup(self.output) if stderr == stdout else _open("output", stderr, fresh)
        except NotStartedError:
            self.close()
            raise

    def written_bytes(self) -> int:
        """Return the size of the larger output."""
        return max(os.fstat(self.output).st_size, os.fstat(self.error).st_size)

    def close(self) -> None:
        """Close the descriptors."""
        for name in ("input", "output", "error"):
            descriptor = self.__dict__.pop(name, None)
            if descriptor is not None:
                os.close(descriptor)


def start(
    argv: Sequence[str], environment: Mapping[str, str], directory: str, files: Files
) -> tuple[int, int]:
    """Start the launch; return (pid, CLOCK_MONOTONIC in ns just before fork). Raises NotStartedError."""
    if not os.path.isdir(directory):
        raise NotStartedError("directory", directory, errno.ENOENT)
    program = find_program(argv[0], directory, environment)
    reading, writing = os.pipe()
    keeper = os.getpid()
    started_ns = time.monotonic_ns()
    pid = os.fork()
    if pid == 0:
        _become(program, argv, environment, directory, files, keeper, writing)
    os.close(writing)
    complaint = os.read(reading, 4096)  # empty when exec has closed the other end
    os.close(reading)
    if complaint:
        os.waitpid(pid, 0)
        number, what = complaint.decode().split(" ", 1)
        raise NotStartedError(what, directory if what == "directory" else argv[0], int(number))
    return pid, started_ns


def _become(
    program: str,
    argv: Sequence[str],
    environment: Mapping[str, str],
    directory: str,
    files: Files,
    keeper: int,
    complaints: int,
) -> None:
    """Turn the forked child into the program; does not return."""
    what = "program"
    try:
        os.setsid()
        # SIGTERM instead of SIGKILL: a launcher then ends its ranks, on other nodes too.
        _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != keeper:
            os._exit(1)
        signal.set_wakeup_fd(-1)
        for number in _BACK_TO_DEFAULT:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for standard, descriptor in enumerate((files.input, files.output, files.error)):
            os.dup2(descriptor, standard)
        what = "input"
        _renew_descriptors()
        what = "directory"
        os.chdir(directory)
        what = "program"
        try:
            os.execve(program, list(argv), dict(environment))  # noqa: S606
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            # A script without "#!" is run by sh, as shells and execvp do.
            os.execve("/bin/sh", ["/bin/sh", program, *argv[1:]], dict(environment))  # noqa: S606
    except OSError as error:
        os.write(complaints, f"{error.errno} {what}".encode())
    except BaseException:
        os.write(complaints, f"{errno.EINVAL} {what}".encode())
    finally:
        os._exit(127)
