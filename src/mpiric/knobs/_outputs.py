"""Files that the recorded program writes, and the file system that they lie on."""

import fnmatch
import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from mpiric.model.file_rules import HERE, is_plain_pattern
from mpiric.model.machine import FileSystem
from mpiric.model.profile import FileTotal
from mpiric.model.situation import Situation
from mpiric.storage import served_by


def output_system(situation: Situation) -> FileSystem | None:
    """The file system of the working directory."""
    return system_of(situation.job.working_directory, situation)


def system_of(path: str, situation: Situation) -> FileSystem | None:
    """The file system of an absolute path, among those that are known."""
    at = PurePosixPath(path)
    holding = [each for each in situation.machine.file_systems if at.is_relative_to(each.mount_point)]
    return max(holding, key=lambda each: len(each.mount_point), default=None)


def is_served_as_nfs(situation: Situation) -> bool:
    """Whether MPI-IO takes the files of the job for those of NFS, as Intel MPI does with all unless told."""
    switch, system = situation.mpi.capabilities.drivers_switch, output_system(situation)
    if switch:
        return (situation.in_force(switch) or "0").lower() in ("0", "no", "off", "disable")
    return system is not None and served_by(system.kind, situation.mpi.file_drivers) == "nfs"


def own_driver(situation: Situation) -> str:
    """The driver that the library has for the file system of the job's files and does not use; "" without."""
    system, switch = output_system(situation), situation.mpi.capabilities.drivers_switch
    if system is None or not switch or situation.in_force(switch) is not None:
        return ""
    found = served_by(system.kind, situation.mpi.file_drivers)
    return found if found and found not in ("ufs", "nfs") else ""


def missing_locks(system: FileSystem, situation: Situation) -> str:
    """What a mount has in place of locks between all nodes of the job; "" where it may have them."""
    if system.locks == "none":
        return "no flock"
    return "flock that holds on one node only" if system.locks == "this node" and situation.nodes > 1 else ""


def outputs(situation: Situation) -> tuple[FileTotal, ...]:
    """Files written below the working directory that the program may have made; paths are relative."""
    behaviour = situation.observation.behaviour
    return tuple(
        file
        for file in (behaviour.files if behaviour else ())
        if file.bytes_written and file.interface != "stream" and not file.path.startswith("/")
        if file.interface == "mpi-io" or "create" in file.opened
    )


def directory_of(file: FileTotal) -> str:
    """The directory of an output, relative to the working directory."""
    return str(PurePosixPath(file.path).parent) or HERE


def patterns_of(files: Sequence[FileTotal], others: Sequence[FileTotal]) -> tuple[str, ...] | None:
    """Patterns that fit the names of some files and of no others; None where that cannot be written.

    Numbers in names are left open: a longer run writes more files of a kind.
    """
    names, other_names = ([PurePosixPath(file.path).name for file in each] for each in (files, others))
    found = dict.fromkeys(re.sub(r"\d+", "*", name) for name in names)
    for patterns in (tuple(found), tuple(dict.fromkeys(names))):
        hits = any(fnmatch.fnmatchcase(name, pattern) for name in other_names for pattern in patterns)
        if not hits and all(map(is_plain_pattern, patterns)) and len(patterns) <= _MOST_PATTERNS:
            return patterns
    return None


_MOST_PATTERNS = 8
