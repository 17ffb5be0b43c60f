"""Execution of compilers and binary tools: long commands with binary input and output, in parallel.

A build starts this module for every file, so it imports only modules that load quickly: `subprocess`,
`tempfile` and `shutil` together take longer than a compiler takes to start.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, NoReturn, TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")
_NOT_FOUND = 127
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class Finished(NamedTuple):
    """Result of a tool; ``status`` is 127 if it does not exist, 128 + n if signal n ended it."""

    status: int
    stdout: bytes
    stderr: bytes

    @property
    def printed(self) -> str:
        """Return the decoded standard output."""
        return self.stdout.decode(errors="replace")

    @property
    def errors(self) -> str:
        """Return the decoded standard error."""
        return self.stderr.decode(errors="replace")


class Toolchain:
    """Runner for the machine's compilers and linkers, with a limit of parallel processes."""

    def __init__(self, environ: Mapping[str, str], parallel: int) -> None:
        self.environ = environ
        self.parallel = parallel

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, environment: Mapping[str, str] | None = None
    ) -> Finished:
        """Run a tool and capture its output; ``environment`` is added to the toolchain's."""
        return _Running(argv, {**self.environ, **(environment or {})}, stdin).finish()

    def run_all(
        self,
        commands: Iterable[Sequence[str]],
        *,
        stdin: bytes | None = None,
        after_first: Callable[[Finished], None] = lambda _: None,
    ) -> list[Finished]:
        """Run tools in parallel with the same input; return the results in order.

        ``after_first`` is called with the first result, before all others have ended.
        """
        running: list[_Running] = []
        done: list[Finished] = []

        def finish_next() -> None:
            done.append(running[len(done)].finish())
            if len(done) == 1:
                after_first(done[0])

        try:
            for argv in commands:
                if len(running) - len(done) == self.parallel:
                    finish_next()
                running.append(_Running(argv, self.environ, stdin))
            while len(done) < len(running):
                finish_next()
        except BaseException:
            for tool in running[len(done) :]:
                tool.end()
            raise
        return done

    def become(self, argv: Sequence[str]) -> NoReturn:
        """Replace this process by the tool, with the same standard streams."""
        _log_start(argv)
        os.execvpe(argv[0], list(argv), dict(self.environ))  # noqa: S606

    def each(self, work: Callable[[_T], _R], items: Iterable[_T]) -> list[_R]:
        """Apply ``work`` to every item in parallel; return the results in order."""
        todo = list(items)
        if len(todo) < 2 or self.parallel < 2:
            return [work(item) for item in todo]
        from threading import Thread  # a compilation needs no threads

        done: dict[int, _R] = {}
        failed: list[BaseException] = []
        waiting = iter(enumerate(todo))

        def work_off() -> None:
            try:
                for at, item in waiting:
                    done[at] = work(item)
            except BaseException as error:
                failed.append(error)

        threads = [Thread(target=work_off) for _ in range(min(self.parallel, len(todo)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]
        return [done[at] for at in range(len(todo))]


class _Running:
    """Running tool. Its output goes to unnamed files, so that it need not be read while the tool runs."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], stdin: bytes | None) -> None:
        _log_start(argv)
        self._out, self._err = _nameless_file(), _nameless_file()
        self._pid = 0
        program = which(argv[0], environ.get("PATH"))
        if program is None:
            os.write(self._err, f"{argv[0]}: not found\n".encode())
            return
        source = _nameless_file(stdin) if stdin is not None else os.open(os.devnull, os.O_RDONLY)
        streams = enumerate((source, self._out, self._err))
        self._pid = os.posix_spawn(
            program,
            list(argv),
            environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, file, stream) for stream, file in streams],
            setsigdef=_IGNORED_BY_PYTHON,
        )
        os.close(source)

    def finish(self) -> Finished:
        """Wait for the end of the tool."""
        status = _NOT_FOUND
        if self._pid:
            try:
                code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
            except BaseException:
                self.end()
                raise
            status = code if code >= 0 else 128 - code
        return Finished(status, _contents(self._out), _contents(self._err))

    def end(self) -> None:
        """Terminate the tool; a compiler then removes its temporary files."""
        pid, self._pid = self._pid, 0
        if not pid:
            return
        with suppress(ProcessLookupError, ChildProcessError):  # it may just have ended
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)


def _log_start(argv: Sequence[str]) -> None:
    """Log a command, unless nothing is logged: importing `logging` takes longer than a compiler to start."""
    if "logging" in sys.modules:
        from mpiric.host.command_log import log_start

        log_start(argv)


def _nameless_file(contents: bytes = b"") -> int:
    """Return a descriptor of an unnamed file with these contents, at position 0."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("mpiric")
    else:  # Python built for an old C library
        import tempfile

        with tempfile.TemporaryFile() as temporary:
            file = os.dup(temporary.fileno())
    if contents:
        with open(file, "wb", closefd=False) as out:
            out.write(contents)
        os.lseek(file, 0, os.SEEK_SET)
    while file < 3:  # a standard stream is closed: the child needs its number
        file = os.dup(file)
    return file


def _contents(file: int) -> bytes:
    with open(file, "rb") as stream:
        stream.seek(0)
        return stream.read()


def which(program: str, path: str | None = None) -> str | None:
    """Return the executable that a shell would start, by ``path`` or PATH; None if there is none."""
    if "/" in program:
        return program if _is_executable(program) else None
    directories = (path if path is not None else os.environ.get("PATH", os.defpath)).split(":")
    candidates = (os.path.join(directory or ".", program) for directory in directories)
    return next((name for name in candidates if _is_executable(name)), None)


def _is_executable(path: str) -> bool:
    return os.access(path, os.X_OK) and not os.path.isdir(path)


class Scratch:
    """Temporary directory that exists for the duration of a ``with`` statement."""

    def __init__(self) -> None:
        offered = (os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp")  # noqa: S108
        parent = next((path for path in offered if path and os.access(path, os.W_OK)), os.getcwd())
        self.path = f"{parent}/mpiric-{os.getpid()}-{os.urandom(6).hex()}"

    def __enter__(self) -> str:
        os.mkdir(self.path, 0o700)
        return self.path

    def __exit__(self, *_error: object) -> None:
        for directory, _, files in os.walk(self.path, topdown=False):
            for name in files:
                os.unlink(f"{directory}/{name}")
            os.rmdir(directory)


def _leave(number: int, _: object) -> NoReturn:
    """Exit with an exception, which terminates running tools and removes temporary directories."""
    raise SystemExit(128 + number)


def this_toolchain() -> Toolchain:
    """Return the toolchain for this process's environment.

    Under a parallel make, variants are compiled one after the other, because each job has its own CPU;
    ``MPIRIC_JOBS`` overrides this.
    """
    signal.signal(signal.SIGTERM, _leave)
    environ = os.environ
    jobs = environ.get("MPIRIC_JOBS", "")
    if jobs.isdigit() and int(jobs) > 0:
        return Toolchain(environ, int(jobs))
    under_make = "--jobserver" in environ.get("MAKEFLAGS", "")
    return Toolchain(environ, 1 if under_make else len(os.sched_getaffinity(0)))
