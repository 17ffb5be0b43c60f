"""One run of the matrix of `mpiric verify`: its launch line, its environment, how it ended."""

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mpiric.abi.networks import NetworkRoute
from mpiric.abi.serving import Server, Serving, mpi_sonames
from mpiric.build.targets import BASELINE
from mpiric.host.facts.elf import read_elf
from mpiric.host.installation.native import library_under_name
from mpiric.host.toolchain import Finished, Toolchain
from mpiric.launchers import dialects
from mpiric.model.job import Meaning
from mpiric.model.translation import preloads
from mpiric.workflows.launch.node_leftovers import cleaner

_LEAST_S, _MOST_S = 60.0, 900.0  # of a run without --timeout
_SLOWER = 100  # than natively on a quiet machine: QEMU, and slow networks


@dataclass(frozen=True)
class VerifyRequest:
    """What to run and how far to go."""

    exe: Path
    arguments: tuple[str, ...]
    ranks: int
    timeout_s: float | None  # of one run; None: by what the program takes here
    interfaces: tuple[str, ...]
    rounding: bool  # variants may differ in the last digits
    cpus: tuple[str, ...] = ()  # emulated ones to try, all when empty
    mpis: tuple[str, ...] = ()  # labels or implementations to try, all when empty
    hosts: tuple[str, ...] = ()  # ranks are spread over them on a network; this host alone when empty


@dataclass(frozen=True)
class MatrixRun:
    """One cell of the matrix, and how long a run may take there."""

    request: VerifyRequest
    toolchain: Toolchain
    server: Server | None
    network: NetworkRoute
    cpu: str  # "" is native
    baseline: bool = False  # forced, to see whose fault an illegal instruction is
    usual_s: float = _MOST_S  # what the program takes here by itself
    bound_names: frozenset[str] = frozenset()  # libraries that an RPATH binds it to

    @property
    def limit_s(self) -> float:
        """Seconds after which it will come to no end."""
        if self.request.timeout_s is not None:
            return self.request.timeout_s
        return min(_MOST_S, _LEAST_S + _SLOWER * self.usual_s)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Where the ranks of this run are, empty for this host alone."""
        return self.request.hosts if self.network.interface else ()


def output_of(done: Finished) -> str:
    """What a run printed on stdout."""
    return done.printed


def is_illegal(done: Finished) -> bool:
    """SIGILL, as a shell, a launcher or QEMU reports it."""
    return done.status in (4, 132) or "Illegal instruction" in done.words


def run_once(run: MatrixRun) -> tuple[Finished, float]:
    """Run the program there; how it ended, and the seconds it took."""
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
    """The words before the program; on several hosts ranks are given each variable that we set."""
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
    """Launcher, library and network switched together, and the dispatcher reporting its choice."""
    environment = {"MPIRIC_EXPLAIN": "1"}
    if run.cpu:  # QEMU's user mode has no process_vm_readv, which MPICH does not expect
        environment["MPIR_CVAR_CH4_CMA_ENABLE"] = "0"
    if run.baseline:
        environment["MPIRIC_TARGET"] = BASELINE[_machine(run.request.exe)]
    if run.server is None:
        yield environment
        return
    library, ours = run.server.library, run.toolchain.environ
    environment |= library.environment
    environment |= run.network.environment(library) or {}
    path, beside = ours.get("PATH", ""), str(Path(library.launcher).parent)
    if beside not in path.split(
        ":"
    ):  # a directory that is there keeps its place: the user's ssh may come before
        path = f"{beside}:{path}"
    environment["PATH"] = ":".join([*library.search_path, path])
    with contextlib.ExitStack() as stack:
        directories = [*library.library_path, str(Path(library.library).parent)]
        if run.server.how is Serving.BY_NAME:
            elf = read_elf(str(run.request.exe))
            soname = mpi_sonames(elf.needed if elf else ())[0]
            seen = str(Path.cwd()) if run.hosts else None
            directories.insert(0, stack.enter_context(library_under_name(library.library, soname, seen)))
            directories.extend(_beside(library.library))
        preload = preloads(library, run.bound_names, is_bound=bool(run.bound_names))
        if preload:
            paths = (*preload, ours.get("LD_PRELOAD", ""))
            environment["LD_PRELOAD"] = ":".join(path for path in paths if path)
        environment["LD_LIBRARY_PATH"] = ":".join([*directories, ours.get("LD_LIBRARY_PATH", "")]).rstrip(":")
        yield environment


def _beside(library: str) -> list[str]:
    """Where a library looks for its own dependencies: a link to it elsewhere has another $ORIGIN."""
    elf, origin = read_elf(library), str(Path(library).resolve().parent)
    paths = elf.search_path if elf else ()
    return [path.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for path in paths]


def last_line(words: str) -> str:
    """The last line that is none of the dispatcher's."""
    lines = [line for line in words.splitlines() if line.strip() and not line.startswith("mpiric: ")]
    return lines[-1][:200] if lines else "it printed nothing"
