"""Files that the recorded program writes, and their file system."""

import fnmatch
import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from mpiric.model.machine import FileSystem
from mpiric.model.profile import FileTotal
from mpiric.model.situation import Situation
from mpiric.model.storage import HERE, is_plain_pattern
from mpiric.storage import served_by


def output_system(situation: Situation) -> FileSystem | None:
    """Return the file system of the working directory."""
    return system_of(situation.job.working_directory, situation)


def system_of(path: str, situation: Situation) -> FileSystem | None:
    """Return the known file system that contains an absolute path."""
    at = PurePosixPath(path)
    holding = [system for system in situation.machine.file_systems if at.is_relative_to(system.mount_point)]
    return max(holding, key=lambda system: len(system.mount_point), default=None)


def is_served_as_nfs(situation: Situation) -> bool:
    """Return whether MPI-IO uses its NFS driver for the job's files, as Intel MPI does by default."""
    switch, system = situation.mpi.capabilities.drivers_switch, output_system(situation)
    if switch:
        return (situation.in_force(switch) or "0").lower() in ("0", "no", "off", "disable")
    return system is not None and served_by(system.kind, situation.mpi.file_drivers) == "nfs"


def own_driver(situation: Situation) -> str:
    """Return the library's unused driver for the file system of the job's files; "" without one."""
    system, switch = output_system(situation), situation.mpi.capabilities.drivers_switch
    if system is None or not switch or situation.in_force(switch) is not None:
        return ""
    driver = served_by(system.kind, situation.mpi.file_drivers)
    return driver if driver and driver not in ("ufs", "nfs") else ""


def missing_locks(system: FileSystem, situation: Situation) -> str:
    """Return which locks a mount lacks between the nodes of the job; "" if none is known to be missing."""
    if system.locks == "none":
        return "no flock"
    return "flock that holds on one node only" if system.locks == "this node" and situation.nodes > 1 else ""


def outputs(situation: Situation) -> tuple[FileTotal, ...]:
    """Return written files below the working directory that the program may have created."""
    behaviour = situation.observation.behaviour
    return tuple(
        file
        for file in (behaviour.files if behaviour else ())
        if file.bytes_written and file.interface != "stream" and not file.path.startswith("/")
        if file.interface == "mpi-io" or "create" in file.opened
    )


def directory_of(file: FileTotal) -> str:
    """Return the directory of an output, relative to the working directory."""
    return str(PurePosixPath(file.path).parent) or HERE


def patterns_of(files: Sequence[FileTotal], excluded: Sequence[FileTotal]) -> tuple[str, ...] | None:
    """Return patterns that match the names of some files and none of the excluded ones; None if impossible.

    Numbers in names are replaced by wildcards, because a longer run writes more files of a kind.
    """
    names, other_names = ([PurePosixPath(file.path).name for file in group] for group in (files, excluded))
    wildcards = dict.fromkeys(re.sub(r"\d+", "*", name) for name in names)
    for patterns in (tuple(wildcards), tuple(dict.fromkeys(names))):
        hits = any(fnmatch.fnmatchcase(name, pattern) for name in other_names for pattern in patterns)
        if not hits and all(map(is_plain_pattern, patterns)) and len(patterns) <= _MOST_PATTERNS:
            return patterns
    return None


_MOST_PATTERNS = 8
