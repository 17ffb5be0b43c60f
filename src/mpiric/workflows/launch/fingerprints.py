"""What a recipe is made for: machine, MPI library and program as short facts that can be compared."""

import hashlib
from collections.abc import Mapping
from pathlib import PurePosixPath

from mpiric.host.host import Host
from mpiric.host.secrets import hide
from mpiric.model.job import Job
from mpiric.model.machine import Machine
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.recipe import Fingerprint

_INTERPRETERS = ("python", "bash", "sh", "dash", "zsh", "perl", "julia", "Rscript")


def fingerprint(job: Job, machine: Machine, mpi: MpiLibrary, host: Host) -> Fingerprint:
    """The three parts; every value is text."""
    return Fingerprint(_machine(machine), of_mpi(mpi), _program(job, host))


def job_identity(job: Job) -> str:
    """Return a digest of command and place, to find a tune that can be resumed.

    Secrets are left out: a command with another token is the same command, and the digest reveals no token.
    """
    text = "\0".join([job.working_directory, *hide(job.argv)])
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


def program_name(job: Job) -> str:
    """The program people would name: of ``python3 solve.py`` it is ``solve.py``."""
    words = _own_words(job)
    if not words:
        return "program"
    name = PurePosixPath(words[0]).name
    if name.rstrip("0123456789.") in _INTERPRETERS:
        script = next((word for word in words[1:] if not word.startswith("-")), "")
        return PurePosixPath(script).name or name
    return name


def _machine(machine: Machine) -> Mapping[str, str]:
    return {
        "cpu": machine.cpu.target,
        "cores": str(len(machine.usable_cores)),
        "hardware_threads": str(machine.usable_cpu_count),
        "numa_nodes": str(len(machine.topology.numa_nodes)),
        "memory_gib": str(round(machine.memory.total_bytes / (1 << 30))),
        "networks": " ".join(sorted(nic.name for nic in machine.networks)),
    }


def of_mpi(mpi: MpiLibrary) -> Mapping[str, str]:
    """The part that names the library."""
    return {
        "implementation": mpi.implementation,
        "version": mpi.version,
        "abi": " ".join(family.value for family in mpi.abi_families),
    }


def _program(job: Job, host: Host) -> Mapping[str, str]:
    return {
        "name": program_name(job),
        "executable": _digest(job, host),
        "arguments": " ".join(hide(_own_words(job))[1:])[:500],
        "ranks": str(job.ranks or ""),
        "launcher": job.dialect,
    }


def _own_words(job: Job) -> tuple[str, ...]:
    """The program's, without those of a container: a recipe of one fits the other."""
    return job.program[len(job.container.argv) :] if job.container else job.program


def _digest(job: Job, host: Host) -> str:
    """First half of the SHA-256 of the file that is named as the program; "" when it cannot be read."""
    word = _own_words(job)[0]
    if job.container is not None:
        word = f"{job.container.image.rstrip('/')}{word}" if word.startswith("/") else ""
    path = host.which(word, by_shell=True) if "/" not in word else word
    if path is None or not host.is_file(path if path.startswith("/") else f"{job.working_directory}/{path}"):
        return ""
    absolute = path if path.startswith("/") else f"{job.working_directory}/{path}"
    fields = host.run(["sha256sum", "--", absolute], timeout_s=60).stdout.split()
    return fields[0][:32] if fields else ""
