"""Running compilers and binary tools: long commands, bytes in and out, several at once."""

import os
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Thread
from typing import NamedTuple, NoReturn, TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")


class Finished(NamedTuple):
    """A tool that ran to its end; ``status`` is 127 when it is not there, 128 + n when signal n ended it."""

    status: int
    stdout: bytes
    stderr: bytes

    @property
    def words(self) -> str:
        """What it said on stderr, decoded."""
        return self.stderr.decode(errors="replace")


class Toolchain:
    """The machine's compilers and linkers, and how many of them may run at once."""

    def __init__(self, environ: Mapping[str, str], parallel: int) -> None:
        self.environ = environ
        self.parallel = parallel

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Finished:
        """Run a tool to its end with its output captured; ``environment`` is added to ours."""
        try:
            done = subprocess.run(
                list(argv),
                input=stdin,
                stdin=subprocess.DEVNULL if stdin is None else None,
                capture_output=True,
                env={**self.environ, **(environment or {})},
                check=False,
            )
        except FileNotFoundError:
            return Finished(127, b"", f"{argv[0]}: not found\n".encode())
        status = done.returncode if done.returncode >= 0 else 128 - done.returncode
        return Finished(status, done.stdout, done.stderr)

    def become(self, argv: Sequence[str]) -> NoReturn:
        """Replace this process by the tool: same standard streams, its own exit status."""
        os.execvpe(argv[0], list(argv), dict(self.environ))  # noqa: S606

    def each(self, work: Callable[[_T], _R], items: Iterable[_T]) -> list[_R]:
        """Apply ``work`` to every item, as many at once as there are CPUs to use; results in order."""
        todo = list(items)
        if len(todo) < 2 or self.parallel < 2:
            return [work(item) for item in todo]
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


def this_toolchain() -> Toolchain:
    """The toolchain of this process's environment.

    Under a parallel make every job already has its CPU, so variants are compiled one after the other there;
    ``MPIRIC_JOBS`` says otherwise.
    """
    environ = os.environ
    jobs = environ.get("MPIRIC_JOBS", "")
    if jobs.isdigit() and int(jobs) > 0:
        return Toolchain(environ, int(jobs))
    under_make = "--jobserver" in environ.get("MAKEFLAGS", "")
    return Toolchain(environ, 1 if under_make else len(os.sched_getaffinity(0)))
