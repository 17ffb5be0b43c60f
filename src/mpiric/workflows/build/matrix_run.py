"""Runs of the matrix of `mpiric verify`: launch line, environment, result and cell of the table."""

import contextlib
import re
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from mpiric.abi import NetworkRoute, Server, Serving, mpi_sonames
from mpiric.build.targets import BASELINE
from mpiric.host.facts.elf import read_elf
from mpiric.host.installation.native import library_under_name
from mpiric.host.toolchain import Finished, Toolchain
from mpiric.launchers import dialects
from mpiric.model.dataclass import dataclass
from mpiric.model.job import Meaning
from mpiric.model.translation import preloads
from mpiric.outputs.equivalence import AcceptedDifferences, Expectation
from mpiric.workflows.launch.nodes import cleaner

_LEAST_S, _MOST_S = 60.0, 900.0  # limits of a run without --timeout
_SLOWER = 100  # factor for QEMU and slow networks, relative to a native run on a quiet machine
NATIVE = "this machine"
_NO_END = (124, 137)  # exit statuses of `timeout`
_CHOSEN = re.compile(r"^mpiric: (\S+) chosen", re.MULTILINE)


@dataclass(frozen=True)
class VerifyRequest:
    """Options of `mpiric verify`."""

    exe: Path
    arguments: tuple[str, ...]
    ranks: int
    timeout_s: float | None  # limit of one run; None: derived from the native run
    interfaces: tuple[str, ...]
    rounding: bool  # variants may differ in the last digits
    cpus: tuple[str, ...] = ()  # emulated CPUs to test, empty: all
    mpis: tuple[str, ...] = ()  # labels or implementations to test, empty: all
    hosts: tuple[str, ...] = ()  # hosts for runs over a network; empty: only this host


@dataclass(frozen=True)
class MatrixRun:
    """Cell of the matrix, with its time limit."""

    request: VerifyRequest
    toolchain: Toolchain
    server: Server | None
    network: NetworkRoute
    cpu: str  # "" is native
    baseline: bool = False  # forces the baseline, to find the cause of an illegal instruction
    usual_s: float = _MOST_S  # duration of a native run
    bound_names: frozenset[str] = frozenset()  # libraries whose path an RPATH determines

    @property
    def limit_s(self) -> float:
        """Return the time limit of the run in seconds."""
        if self.request.timeout_s is not None:
            return self.request.timeout_s
        return min(_MOST_S, _LEAST_S + _SLOWER * self.usual_s)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Return the hosts of the ranks, empty for this host alone."""
        return self.request.hosts if self.network.interface else ()


def is_illegal(done: Finished) -> bool:
    """Return whether a run ended with SIGILL, as reported by a shell, a launcher or QEMU."""
    return done.status in (4, 132) or "Illegal instruction" in done.errors


def run_once(run: MatrixRun) -> tuple[Finished, float]:
    """Run the program; return its result and its duration in seconds."""
    request = run.request
    emulator = [f"qemu-{_machine(request.exe)}", "-cpu", run.cpu] if run.cpu else []
    program = [*emulator, str(request.exe.resolve()), *request.arguments]
    with _environment(run) as environment:
        launcher = _launcher(run, environment)
        limit = ["timeout", "-k", "5", str(run.limit_s)]
        start = time.monotonic()
        begun_s = time.time()
        done = run.toolchain.run([*limit, *launcher, *program], environment=environment)
        elapsed_s = time.monotonic() - start
        if launcher and run.hosts and done.status != 0:
            clean = cleaner(sys.executable, begun_s)
            run.toolchain.run([*limit, *launcher, *clean], environment=environment)
        return done, elapsed_s


def _launcher(run: MatrixRun, environment: Mapping[str, str]) -> list[str]:
    """Return the command before the program; on several hosts the launcher forwards each variable."""
    if run.server is None:
        return []
    library, ranks = run.server.library, run.request.ranks
    write = dialects()[library.dialect].write
    argv = [library.launcher, *(write[Meaning.RANKS]((str(ranks),)) or ())]
    if run.hosts:
        on_each = -(-ranks // len(run.hosts))
        argv += write[Meaning.HOSTS]((",".join(f"{host}:{on_each}" for host in run.hosts),)) or ()
        for name, value in environment.items():
            argv += (write[Meaning.ENVIRONMENT]((name, value)) or ()) if name != "PATH" else ()
        if Meaning.BINDING in write:  # hosts of a virtual cluster share their CPUs
            argv += write[Meaning.BINDING](("none",)) or ()
    return argv


def _machine(exe: Path) -> str:
    head = exe.open("rb").read(20)
    return {62: "x86_64", 183: "aarch64"}[int.from_bytes(head[18:20], "little")]


@contextlib.contextmanager
def _environment(run: MatrixRun) -> Iterator[Mapping[str, str]]:
    """Set launcher, library and network together, and make the dispatcher report its choice."""
    environment = {"MPIRIC_EXPLAIN": "1"}
    if run.cpu:  # QEMU's user mode lacks process_vm_readv, which MPICH uses
        environment["MPIR_CVAR_CH4_CMA_ENABLE"] = "0"
    if run.baseline:
        environment["MPIRIC_TARGET"] = BASELINE[_machine(run.request.exe)]
    if run.server is None:
        yield environment
        return
    library, environ = run.server.library, run.toolchain.environ
    environment |= library.environment
    environment |= run.network.environment(library) or {}
    path, beside = environ.get("PATH", ""), str(Path(library.launcher).parent)
    if beside not in path.split(":"):  # existing entries keep their position: the user's ssh may come first
        path = f"{beside}:{path}"
    environment["PATH"] = ":".join([*library.search_path, path])
    with contextlib.ExitStack() as stack:
        directories = [*library.library_path, str(Path(library.library).parent)]
        if run.server.how is Serving.BY_NAME:
            elf = read_elf(str(run.request.exe))
            soname = mpi_sonames(elf.needed if elf else ())[0]
            shared_directory = str(Path.cwd()) if run.hosts else None
            directories.insert(
                0, stack.enter_context(library_under_name(library.library, soname, shared_directory))
            )
            elf, origin = read_elf(library.library), str(Path(library.library).resolve().parent)
            paths = elf.search_path if elf else ()
            directories.extend(
                [path.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for path in paths]
            )
        preload = preloads(library, run.bound_names, is_bound=bool(run.bound_names))
        if preload:
            paths = (*preload, environ.get("LD_PRELOAD", ""))
            environment["LD_PRELOAD"] = ":".join(path for path in paths if path)
        environment["LD_LIBRARY_PATH"] = ":".join([*directories, environ.get("LD_LIBRARY_PATH", "")]).rstrip(
            ":"
        )
        yield environment


def last_line(text: str) -> str:
    """Return the last line that the dispatcher did not print."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("mpiric: ")]
    return lines[-1][:200] if lines else "it printed nothing"


@dataclass(frozen=True)
class Cell:
    """Result of one cell of the matrix."""

    cpu: str
    mpi: str  # "" for a program without MPI
    network: str
    path: str  # variant that ran; several if ranks differ; "" for a program that is not fat
    status: int
    agrees: bool
    sentence: str  # reason of a failure
    is_second_try: bool  # the first run did not end, for example because of a deadlock in the library
    library_unfit: bool  # the baseline fails too: the MPI library does not run on this CPU
    seconds: float | None  # only for native runs
    is_translated: bool = False  # the library has another ABI family than the program

    @property
    def is_green(self) -> bool:
        """Return whether it succeeded with the expected output."""
        return self.status == 0 and self.agrees

    @property
    def verdict(self) -> str:
        """Return the result as text."""
        if self.is_green:
            return "right, at the second try: the first run did not end" if self.is_second_try else "right"
        return self.sentence if self.library_unfit else f"WRONG, {self.sentence}"


def judge_cell(run: MatrixRun, expected: Expectation) -> Cell | None:
    """Run the program, twice if it does not end; None if the library does not support the network."""
    mpi = run.server.library.label if run.server else ""
    if run.server and run.network.environment(run.server.library) is None:
        return None
    done, seconds = run_once(run)
    is_second_try = done.status in _NO_END
    if is_second_try:
        done, seconds = run_once(run)
    wrong = (
        expected.compare(done.printed, AcceptedDifferences(run.request.rounding))
        if done.status == 0
        else None
    )
    sentence = str(wrong or "") if done.status == 0 else last_line(done.errors)
    paths = sorted(set(_CHOSEN.findall(done.errors)))
    native = not run.cpu
    unfit = run.server is not None and is_illegal(done)
    unfit = unfit and is_illegal(run_once(replace(run, baseline=True))[0])
    if unfit:
        sentence = f"{mpi} itself uses instructions that this CPU lacks"
    return Cell(
        cpu=run.cpu or NATIVE,
        mpi=mpi,
        network=run.network.name,
        path=", ".join(paths),
        status=done.status,
        agrees=done.status == 0 and wrong is None,
        sentence=sentence,
        is_second_try=is_second_try,
        library_unfit=unfit,
        seconds=round(seconds, 3) if native else None,
        is_translated=run.server is not None and run.server.how is Serving.TRANSLATED,
    )
