"""`mpiric verify`: one executable on every CPU × MPI × network at hand, against its own native answer."""

import contextlib
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mpiric.abi.networks import NetworkRoute, networks_of
from mpiric.abi.serving import Server, Serving, can_serve, mpi_sonames
from mpiric.build.inspection import inspect_file
from mpiric.build.targets import BASELINE
from mpiric.host.facts.elf import read_elf
from mpiric.host.host import Host
from mpiric.host.installation.native import library_under_name
from mpiric.host.packaged import packaged_table
from mpiric.host.toolchain import Finished, Toolchain
from mpiric.launchers import dialects
from mpiric.model.errors import MismatchError, ProgramFailedError
from mpiric.model.job import Meaning
from mpiric.mpis import abi_of_program, find_mpis
from mpiric.tuning.equivalence.output_equivalence import Expectation, learn

NATIVE = "this machine"
_LEAST_S, _MOST_S = 60.0, 900.0  # of a run without --timeout
_SLOWER = 100  # than natively on a quiet machine: QEMU, and slow networks
_NO_END = (124, 137)  # of `timeout`
_CHOSEN = re.compile(r"^mpiric: (\S+) chosen", re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """One run of the matrix."""

    cpu: str
    mpi: str  # "" for a program without MPI
    network: str
    path: str  # the variant that ran; several when ranks differ; "" for a program that is not fat
    status: int
    agrees: bool
    sentence: str  # what was wrong
    is_second_try: bool  # the first came to no end, as happens to libraries that wait for each other
    library_unfit: bool  # the baseline fails alike, so it is the MPI library that this CPU cannot run
    seconds: float | None  # native runs only

    @property
    def is_green(self) -> bool:
        """Whether it ran to its end with the right answer."""
        return self.status == 0 and self.agrees

    @property
    def verdict(self) -> str:
        """In words, for who watches."""
        if self.is_green:
            return "right, at the second try: the first came to no end" if self.is_second_try else "right"
        return self.sentence if self.library_unfit else f"WRONG, {self.sentence}"


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
class _Run:
    request: VerifyRequest
    toolchain: Toolchain
    server: Server | None
    network: NetworkRoute
    cpu: str  # "" is native
    baseline: bool = False  # forced, to see whose fault an illegal instruction is
    usual_s: float = _MOST_S  # what the program takes here by itself

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


def verify(
    request: VerifyRequest, host: Host, toolchain: Toolchain, watch: Callable[[str], None]
) -> tuple[Cell, ...]:
    """Run the whole matrix; the first native column teaches what must stay the same."""
    seen = inspect_file(request.exe, toolchain)
    elf = read_elf(str(request.exe))
    sonames = mpi_sonames(elf.needed) if elf else ()
    family = abi_of_program(host, str(request.exe))
    wanted = request.mpis
    mpis = [m for m in find_mpis(host) if not wanted or m.label in wanted or m.implementation in wanted]
    servers: Sequence[Server | None] = can_serve(family, sonames[0] if sonames else "", mpis)
    if family is not None and not servers:
        raise MismatchError(
            f"no MPI library here serves the {family.value} ABI", hint="mpiric mpi install NAME brings one"
        )
    servers = servers or (None,)
    networks = networks_of(request.interfaces) if family else networks_of(())
    cpus = ["", *(cpu for cpu in _emulated(seen.machine) if not request.cpus or cpu in request.cpus)]
    native = _Run(request, toolchain, servers[0], networks[0], "")
    expected, usual_s = _reference(native)
    native = replace(native, usual_s=usual_s)
    if cpus[1:]:
        expected = _slow_reference(native, cpus[-1], expected)
    cells: list[Cell] = []
    for cpu in cpus:
        for server in servers:
            for network in networks:
                run = replace(native, server=server, network=network, cpu=cpu)
                cell = _cell(run, expected)
                if cell is not None:
                    cells.append(cell)
                    watch(f"{cell.cpu}, {cell.mpi or 'no MPI'}, {cell.network}: {cell.verdict}")
    return tuple(cells)


def _emulated(machine: str) -> list[str]:
    models: Sequence[str] = packaged_table("build/data/cpu/emulated")[machine]
    return list(models) if shutil.which(f"qemu-{machine}") else []


def _reference(run: _Run) -> tuple[Expectation, float]:
    """What must stay the same, and the seconds it takes."""
    runs = [_execute(run) for _ in range(2)]
    outputs = [done for done, _ in runs]
    for done in outputs:
        if done.status != 0:
            raise ProgramFailedError(
                f"the program itself ends with status {done.status}: {_last_line(_text(done) + done.words)}",
                hint="give arguments with which it runs to its end",
            )
    return learn([_text(done) for done in outputs]), max(seconds for _, seconds in runs)


def _slow_reference(native: _Run, cpu: str, expected: Expectation) -> Expectation:
    """What must stay the same at any speed: learned from the baseline, run natively and emulated.

    A program that prints times may print 0.0000 s in two native runs, and something else under another
    library, network or emulator. One variant computes the same natively and emulated, so what differs
    there is time.
    The baseline itself must agree with ``expected``.
    """
    base = replace(native, baseline=True)
    runs = [_execute(run)[0] for run in (base, base, replace(base, cpu=cpu))]
    outputs = [_text(done) for done in runs]
    if any(done.status != 0 for done in runs) or expected.compare(
        outputs[0], rounding=native.request.rounding
    ):
        return expected
    return learn(outputs)


def _cell(run: _Run, expected: Expectation) -> Cell | None:
    mpi = run.server.library.label if run.server else ""
    if run.server and run.network.environment(run.server.library) is None:
        return None
    done, seconds = _execute(run)
    is_second_try = done.status in _NO_END
    if is_second_try:
        done, seconds = _execute(run)
    wrong = expected.compare(_text(done), rounding=run.request.rounding) if done.status == 0 else None
    sentence = str(wrong or "") if done.status == 0 else _last_line(done.words)
    paths = sorted(set(_CHOSEN.findall(done.words)))
    native = not run.cpu
    unfit = run.server is not None and _is_illegal(done)
    unfit = unfit and _is_illegal(_execute(replace(run, baseline=True))[0])
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
    )


def _text(done: Finished) -> str:
    return done.stdout.decode(errors="replace")


def _is_illegal(done: Finished) -> bool:
    """SIGILL, as a shell, a launcher or QEMU reports it."""
    return done.status in (4, 132) or "Illegal instruction" in done.words


def _execute(run: _Run) -> tuple[Finished, float]:
    request = run.request
    emulator = [f"qemu-{_machine(request.exe)}", "-cpu", run.cpu] if run.cpu else []
    program = [*emulator, str(request.exe.resolve()), *request.arguments]
    with _environment(run) as environment:
        launcher = _launcher(run, environment)
        limit = ["timeout", "-k", "5", str(run.limit_s)]
        start = time.monotonic()
        done = run.toolchain.run([*limit, *launcher, *program], environment=environment)
        return done, time.monotonic() - start


def _launcher(run: _Run, environment: Mapping[str, str]) -> list[str]:
    """The words before the program; on several hosts ranks are given each variable that we set."""
    if run.server is None:
        return []
    library, ranks = run.server.library, run.request.ranks
    write = dialects()[library.dialect].write
    words = [library.launcher, *(write[Meaning.RANKS]((str(ranks),)) or ())]
    if run.hosts:
        on_each = -(-ranks // len(run.hosts))
        words += write[Meaning.HOSTS]((",".join(f"{host}:{on_each}" for host in run.hosts),)) or ()
        for name, value in environment.items():
            words += (write[Meaning.ENVIRONMENT]((name, value)) or ()) if name != "PATH" else ()
        if Meaning.BINDING in write:  # hosts of a virtual cluster share their CPUs
            words += write[Meaning.BINDING](("none",)) or ()
    return words


def _machine(exe: Path) -> str:
    head = exe.open("rb").read(20)
    return {62: "x86_64", 183: "aarch64"}[int.from_bytes(head[18:20], "little")]


@contextlib.contextmanager
def _environment(run: _Run) -> Iterator[Mapping[str, str]]:
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
        environment["LD_LIBRARY_PATH"] = ":".join([*directories, ours.get("LD_LIBRARY_PATH", "")]).rstrip(":")
        yield environment


def _beside(library: str) -> list[str]:
    """Where a library looks for its own dependencies: a link to it elsewhere has another $ORIGIN."""
    elf, origin = read_elf(library), str(Path(library).resolve().parent)
    paths = elf.search_path if elf else ()
    return [path.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for path in paths]


def _last_line(words: str) -> str:
    lines = [line for line in words.splitlines() if line.strip() and not line.startswith("mpiric: ")]
    return lines[-1][:200] if lines else "it printed nothing"
