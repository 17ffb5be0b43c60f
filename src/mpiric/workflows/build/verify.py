"""`mpiric verify`: one executable on every available CPU × MPI × network, compared with its native result."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace

from mpiric.abi import Server, Serving, can_serve, mpi_sonames, networks_of
from mpiric.build.inspection import inspect_file
from mpiric.host.facts.elf import read_elf
from mpiric.host.host import Host
from mpiric.host.packaged import packaged_table
from mpiric.host.toolchain import Toolchain
from mpiric.model.errors import MismatchError, ProgramFailedError
from mpiric.model.translation import before_rpath
from mpiric.mpis import abi_of_program, find_mpis, libraries_needed_by, mpi_names, nailed_to
from mpiric.outputs.equivalence import AcceptedDifferences, Expectation, learn
from mpiric.workflows.build.matrix_run import Cell, MatrixRun, VerifyRequest, judge_cell, last_line, run_once
from mpiric.workflows.launch.interchange import with_stand_ins


def learn_reference(run: MatrixRun) -> tuple[Expectation, float]:
    """Return the expected output, and the duration of a run in seconds."""
    runs = [run_once(run) for _ in range(2)]
    outputs = [done for done, _ in runs]
    for done in outputs:
        if done.status != 0:
            raise ProgramFailedError(
                f"the program ends with status {done.status}: {last_line(done.printed + done.errors)}",
                hint="give arguments with which the program ends normally",
            )
    return learn([done.printed for done in outputs]), max(seconds for _, seconds in runs)


def learn_slow_reference(native: MatrixRun, cpu: str, expected: Expectation) -> Expectation:
    """Return the expected output without times: learned from the baseline, run natively and emulated.

    A program that prints times may print 0.0000 s in two native runs, and another value with another
    library, network or emulator. A variant computes the same natively and emulated, so that differences are
    times. The baseline itself must agree with ``expected``.
    """
    base = replace(native, baseline=True)
    runs = [run_once(run)[0] for run in (base, base, replace(base, cpu=cpu))]
    outputs = [done.printed for done in runs]
    if any(done.status != 0 for done in runs) or expected.compare(
        outputs[0], AcceptedDifferences(native.request.rounding)
    ):
        return expected
    return learn(outputs)


def verify(
    request: VerifyRequest, host: Host, toolchain: Toolchain, watch: Callable[[str], None]
) -> tuple[Cell, ...]:
    """Run the whole matrix; the first native column determines the expected output."""
    inspection = inspect_file(request.exe, toolchain)
    elf = read_elf(str(request.exe))
    sonames = mpi_sonames(elf.needed) if elf else ()
    family = abi_of_program(host, str(request.exe))
    requested = request.mpis
    mpis = [
        m for m in find_mpis(host) if not requested or m.label in requested or m.implementation in requested
    ]
    mpis = list(with_stand_ins(mpis, str(request.exe), host)) if family else mpis
    names = mpi_names(host, (str(request.exe), *libraries_needed_by(host, str(request.exe))))
    servers: Sequence[Server | None] = can_serve(family, sonames[0] if sonames else "", mpis, names)
    bound_names = _names_bound_by_rpath(str(request.exe), host)
    if bound_names:  # otherwise the program's own library would run
        servers = [s for s in servers if s and (s.library.preloaded or before_rpath(s.library, bound_names))]
    if family is not None and all(server and server.how is Serving.TRANSLATED for server in servers):
        raise MismatchError(
            f"no MPI library here serves the {family.value} ABI", hint="install one: mpiric mpi install NAME"
        )
    servers = servers or (None,)
    networks = networks_of(request.interfaces) if family else networks_of(())
    models: Sequence[str] = packaged_table("build/data/cpu/emulated")[inspection.machine]
    cpus = [
        "",
        *(
            cpu
            for cpu in (list(models) if shutil.which(f"qemu-{inspection.machine}") else [])
            if not request.cpus or cpu in request.cpus
        ),
    ]
    native = MatrixRun(request, toolchain, servers[0], networks[0], "", bound_names=bound_names)
    expected, usual_s = learn_reference(native)
    native = replace(native, usual_s=usual_s)
    if cpus[1:]:
        expected = learn_slow_reference(native, cpus[-1], expected)
    cells: list[Cell] = []
    for cpu in cpus:
        # Emulation tests the program and its own library on another processor.
        for server in (s for s in servers if not cpu or s is None or s.how is not Serving.TRANSLATED):
            for network in networks:
                run = replace(native, server=server, network=network, cpu=cpu)
                cell = judge_cell(run, expected)
                if cell is not None:
                    cells.append(cell)
                    watch(f"{cell.cpu}, {cell.mpi or 'no MPI'}, {cell.network}: {cell.verdict}")
    return tuple(cells)


def _names_bound_by_rpath(path: str, host: Host) -> frozenset[str]:
    """Return the MPI libraries of an executable whose paths its RPATH determines."""
    files = (path, *libraries_needed_by(host, path))
    return mpi_names(host, files) if nailed_to(host, files) else frozenset()
