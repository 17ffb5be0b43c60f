"""Files that ranks only read: read once for all nodes, opened to read.

mpiric's runtime does it (`src/runtime`). Bytes are the same, metadata that the program asks of an open
file are not all: tried with ``--allow-late`` only.
"""

from collections.abc import Sequence

from mpiric.knobs._by_runtime import by_the_runtime, reachable
from mpiric.knobs._declare import no
from mpiric.knobs._outputs import outputs, patterns_of, system_of
from mpiric.knobs._reading import rank_count
from mpiric.model.file_rules import is_plain_directory, parse_paths, parse_patterns
from mpiric.model.knob import Applicability, FilesEffect, Knob, Promise, Written
from mpiric.model.profile import FileTotal
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

_MOST_INPUTS = 16  # `most_inputs` of the runtime


def _read_only(situation: Situation) -> tuple[FileTotal, ...]:
    """Files that are read and written by nobody, those with most bytes first."""
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
    """Files below the working directory that all ranks read and none writes."""
    ranks = rank_count(situation)
    read = _read_only(situation)
    return tuple(file for file in read if file.ranks >= max(2, ranks) and is_plain_directory(file.path))[
        :_MOST_INPUTS
    ]


def _lies_on_network(situation: Situation) -> bool:
    system = system_of(situation.job.working_directory, situation)
    return system is not None and system.is_network


def _broadcast_applies(situation: Situation) -> Applicability:
    if not _lies_on_network(situation):
        return no("the files lie on no file system that nodes share")
    if not _shared_inputs(situation):
        return no("no file below the working directory is seen to be read by all ranks and written by none")
    return reachable(situation)


def _spell_broadcast(value: str, situation: Situation) -> Spelling | None:
    note = "inputs are read when MPI begins: fstat(2) shows a copy on the node's disk"
    return by_the_runtime(situation, {"MPIRIC_BROADCAST": ";".join(parse_paths(value))}, note)


def _opened_for_both(situation: Situation) -> Sequence[FileTotal]:
    return [file for file in _read_only(situation) if "write" in file.opened]


def _opens_applies(situation: Situation) -> Applicability:
    if not _opened_for_both(situation):
        return no("no file is seen to be opened to write that is only read")
    return reachable(situation)


def _opens_values(situation: Situation) -> tuple[str, ...]:
    both = _opened_for_both(situation)
    patterns = patterns_of(both, outputs(situation)) if both else None
    return (";".join(patterns),) if patterns else ()


def _opens_promise(situation: Situation) -> Promise:
    if _lies_on_network(situation):
        return Promise(0.3, "files are opened to write that are only read: ranks take one another's locks")
    return Promise(0.05, "files are opened to write that are only read")


def _spell_opens(value: str, situation: Situation) -> Spelling | None:
    return by_the_runtime(situation, {"MPIRIC_READ_ONLY": ";".join(parse_patterns(value))})


KNOBS = (
    Knob(
        name="broadcast-inputs",
        sentence="Which inputs rank 0 reads once for all nodes, digests checked, when MPI begins",
        why="Each rank that opens and reads a file asks the servers for the same bytes again",
        source="Slurm's sbcast(1); Frings et al., Spindle, ICS13, https://doi.org/10.1145/2464996.2465020",
        domain=Written("paths below the working directory: `in.data;tables/eos.bin`", parse_paths),
        values=lambda situation: (
            (";".join(file.path for file in _shared_inputs(situation)),) if _shared_inputs(situation) else ()
        ),
        applies=_broadcast_applies,
        promise=lambda _: Promise(0.3, "all ranks read the same files from a file system that nodes share"),
        files=FilesEffect.LATE,
        spell=_spell_broadcast,
        matters_when=("io_bytes_read >= 1",),
        ceiling=("io_bound",),
        symptoms=("io_share", "file_share"),
    ),
    Knob(
        name="read-only-opens",
        sentence="Which files are opened to read that the program opens for both and only reads",
        why="Opened to write, a file takes locks and intents that ranks which read it wait for",
        source="NASA HECC, Lustre Best Practices: open as read-only; gfortran opens for both by default",
        domain=Written("patterns of file names: `in.*;*.dat`", parse_patterns),
        values=_opens_values,
        applies=_opens_applies,
        promise=_opens_promise,
        files=FilesEffect.LATE,
        spell=_spell_opens,
        matters_when=("io_bytes_read >= 1",),
        ceiling=("io_bound",),
        symptoms=("io_share",),
    ),
)
