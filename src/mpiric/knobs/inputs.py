"""Files that ranks only read: read once for all nodes.

mpiric's runtime implements this (`src/runtime`). The bytes are the same, but some metadata of open files
differ, so it is tried with ``--allow-late`` only.
"""

from mpiric.knobs._by_runtime import by_the_runtime, no_runtime
from mpiric.knobs._outputs import system_of
from mpiric.model.file_rules import is_plain_directory, parse_paths
from mpiric.model.knob import FilesEffect, Knob, Skip, Try, Written
from mpiric.model.profile import FileTotal
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

_MOST_INPUTS = 16  # equal to `most_inputs` of the runtime


def _read_only(situation: Situation) -> tuple[FileTotal, ...]:
    """Return files that are only read, sorted by the number of bytes."""
    behaviour = situation.observation.behaviour
    files = [
        file
        for file in (behaviour.files if behaviour else ())
        if file.bytes_read
        and not file.bytes_written
        and file.interface == "posix"
        and "create" not in file.opened
    ]
    return tuple(sorted(files, key=lambda file: -file.bytes_read))


def _shared_inputs(situation: Situation) -> tuple[FileTotal, ...]:
    """Return files below the working directory that all ranks read and none writes."""
    ranks = situation.rank_count
    read = _read_only(situation)
    return tuple(file for file in read if file.ranks >= max(2, ranks) and is_plain_directory(file.path))[
        :_MOST_INPUTS
    ]


def _lies_on_network(situation: Situation) -> bool:
    system = system_of(situation.job.working_directory, situation)
    return system is not None and system.is_network


def _consider_broadcast(situation: Situation) -> Skip | Try:
    if not _lies_on_network(situation):
        return Skip("the files are not on a file system that nodes share")
    inputs = _shared_inputs(situation)
    if not inputs:
        return Skip("no file below the working directory is seen to be read by all ranks and written by none")
    if reason := no_runtime(situation):
        return Skip(reason)
    if situation.shown("io_bytes_read") < 1:
        return Skip("no file is read")
    because = "all ranks read the same files from a file system that nodes share"
    return Try((";".join(file.path for file in inputs),), 0.3, because)


def _set_broadcast(value: str, situation: Situation) -> Spelling | None:
    note = "inputs are read when MPI begins: fstat(2) shows a copy on the node's disk"
    return by_the_runtime(situation, {"MPIRIC_BROADCAST": ";".join(parse_paths(value))}, note)


KNOBS = (
    Knob(
        name="broadcast-inputs",
        sentence="Which inputs rank 0 reads once for all nodes, digests checked, when MPI begins",
        why="Each rank that opens and reads a file asks the servers for the same bytes again",
        source="Slurm's sbcast(1); Frings et al., Spindle, ICS13, https://doi.org/10.1145/2464996.2465020",
        evidence=(
            "https://doi.org/10.1145/2464996.2465020: Spindle, loads of shared libraries by thousands of "
            "ranks"
        ),
        domain=Written("paths below the working directory: `in.data;tables/eos.bin`", parse_paths),
        consider=_consider_broadcast,
        settings=_set_broadcast,
        files=FilesEffect.LATE,
        touches=("io_bound",),
        symptoms=("io_share", "file_share"),
    ),
)
