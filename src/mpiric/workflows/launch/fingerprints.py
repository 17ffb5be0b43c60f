"""Identity of machine, MPI library and program in a recipe, as short texts that can be compared."""

import hashlib
from collections.abc import Mapping
from pathlib import PurePosixPath

from mpiric.host.command_log import hide
from mpiric.host.host import Host
from mpiric.launchers import with_parameters
from mpiric.model.evidence import Fingerprint
from mpiric.model.job import Job
from mpiric.model.machine import Machine
from mpiric.model.mpi_library import MpiLibrary

_INTERPRETERS = ("python", "bash", "sh", "dash", "zsh", "perl", "julia", "Rscript")


def fingerprint(job: Job, machine: Machine, mpi: MpiLibrary, host: Host) -> Fingerprint:
    """Return the three parts; all values are text."""
    return Fingerprint(
        {
            "cpu": machine.cpu.target,
            "cores": str(len(machine.usable_cores)),
            "hardware_threads": str(machine.usable_cpu_count),
            "numa_nodes": str(len(machine.topology.numa_nodes)),
            "memory_gib": str(round(machine.memory.total_bytes / (1 << 30))),
            "networks": " ".join(sorted(nic.name for nic in machine.networks)),
        },
        of_mpi(mpi),
        _program(job, host),
    )


def job_identity(job: Job) -> str:
    """Return a digest of command and directory, to find a tune that can be resumed.

    Secrets are excluded: a command with another token is the same command, and the digest must not reveal
    tokens.
    """
    text = "\0".join([job.working_directory, *hide(job.command)])
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


def program_name(job: Job) -> str:
    """Return the name of the program: ``solve.py`` for ``python3 solve.py``."""
    argv = _own_words(job)
    if not argv:
        return "program"
    name = PurePosixPath(argv[0]).name
    if name.rstrip("0123456789.") in _INTERPRETERS:
        script = next((word for word in argv[1:] if not word.startswith("-")), "")
        return PurePosixPath(script).name or name
    return name


def of_mpi(mpi: MpiLibrary) -> Mapping[str, str]:
    """Return the part for the library."""
    return {
        "implementation": mpi.implementation,
        "version": mpi.version,
        "abi": " ".join(family.value for family in mpi.abi_families),
    }


def _program(job: Job, host: Host) -> Mapping[str, str]:
    """Return the part for the program, of the command as written: its parameters are not replaced."""
    job = with_parameters(job, {name: name for name in job.parameters})
    return {
        "name": program_name(job),
        "executable": _digest(job, host),
        "arguments": " ".join(hide(_own_words(job))[1:])[:500],
        "ranks": str(job.ranks or ""),
        "launcher": job.dialect,
    }


def _own_words(job: Job) -> tuple[str, ...]:
    """Return the program's arguments without the container's, so that recipes fit both."""
    return job.program[len(job.container.argv) :] if job.container else job.program


def _digest(job: Job, host: Host) -> str:
    """Return the first half of the SHA-256 of the program's file; "" if it is unreadable."""
    word = _own_words(job)[0]
    if job.container is not None:
        word = f"{job.container.image.rstrip('/')}{word}" if word.startswith("/") else ""
    path = host.which(word, by_shell=True) if "/" not in word else word
    if path is None or not host.is_file(path if path.startswith("/") else f"{job.working_directory}/{path}"):
        return ""
    absolute = path if path.startswith("/") else f"{job.working_directory}/{path}"
    fields = host.run(["sha256sum", "--", absolute], timeout_s=60).stdout.split()
    return fields[0][:32] if fields else ""
