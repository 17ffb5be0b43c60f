"""Output that reaches files and the screen later: the same bytes in the same order, in fewer, larger writes.

mpiric's runtime holds it back (`src/runtime/deferred`), or the runtime library of a Fortran compiler.
What a killed run loses is at most the buffers, which each note says. All of it is tried with ``--allow-late``
only.
"""

from collections.abc import Callable, Mapping

from mpiric.knobs._by_runtime import by_the_runtime, reachable
from mpiric.knobs._declare import no, yes
from mpiric.knobs._outputs import output_system
from mpiric.knobs._reading import first_in_force
from mpiric.model.knob import Applicability, Bytes, Choice, FilesEffect, Knob, Promise, parse_bytes
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

_KIB, _MIB = 1 << 10, 1 << 20
_SIZES = Bytes(16 * _KIB, 64 * _MIB)
_LATE_S = 0.2  # MPIRIC_LATE_MS
_GFORTRAN = ("GFORTRAN_FORMATTED_BUFFER_SIZE", "GFORTRAN_UNFORMATTED_BUFFER_SIZE")
_FORTRAN_LIBRARIES = ("libgfortran.", "libifcore")
_WRITES_MUCH, _WRITING = ("io_bytes_written >= 1e5",), ("io_bound", "unsafe_bound")
_SMALL = ("io_share", "small_io_share")
_FEW_LINES = 8.0  # a flush: where more lines go out together, little is left to gain


def _numbers(situation: Situation) -> Mapping[str, float]:
    behaviour = situation.observation.behaviour
    return behaviour.numbers if behaviour else {}


def _held_back(variable: str, loses: str) -> Callable[[str, Situation], Spelling | None]:
    def spell(value: str, situation: Situation) -> Spelling | None:
        note = f"a killed rank loses at most {value} {loses}, none of it older than {_LATE_S:g} s"
        return by_the_runtime(situation, {variable: str(parse_bytes(value) // _KIB)}, note)

    return spell


def _small_writes_applies(situation: Situation) -> Applicability:
    numbers = _numbers(situation)
    if numbers and not (numbers.get("io_accesses", 0) * numbers.get("small_io_share", 0) >= 1):
        return no("no access to a file is a small one")
    return reachable(situation)


def _on_network(situation: Situation) -> bool:
    system = output_system(situation)
    return system is not None and system.is_network


def _files_promise(situation: Situation) -> Promise:
    if _on_network(situation):
        return Promise(0.3, "files lie on a network file system, which each write may ask")
    return Promise(0.1, "the kernel joins small writes to a local file by itself")


def _stdout_promise(situation: Situation) -> Promise:
    lines = _numbers(situation).get("lines_per_flush", 0.0)
    if 0 < lines < _FEW_LINES:
        return Promise(0.5, f"{lines:.3g} lines go to the launcher at a time", ("64KiB",))
    return Promise(0.2, "each rank's lines go through the launcher")


def _times_applies(situation: Situation) -> Applicability:
    system = output_system(situation)
    if system is not None and not system.reads_change_times:
        return no("the file system is mounted so that reading changes no access time")
    return reachable(situation)


def _spell_times(_value: str, situation: Situation) -> Spelling | None:
    note = "files that are read keep their access times: where old files are removed, they look unused"
    return by_the_runtime(situation, {"MPIRIC_NO_ATIME": "1"}, note)


def _fortran_applies(situation: Situation) -> Applicability:
    if not any(situation.observation.loads(stem) for stem in _FORTRAN_LIBRARIES):
        return no("the ranks load no runtime library of gfortran's or Intel Fortran's")
    if first_in_force(situation, (*_GFORTRAN, "FORT_BUFFERED")):
        return no("the user has set the buffers of Fortran's units")
    return yes("the ranks load a Fortran runtime library")


def _spell_fortran(value: str, situation: Situation) -> Spelling | None:
    environment: dict[str, str] = {}
    if situation.observation.loads("libgfortran."):
        environment |= {name: str(parse_bytes(value)) for name in _GFORTRAN}
    if situation.observation.loads("libifcore"):
        environment |= {"FORT_BUFFERED": "true", "FORT_BLOCKSIZE": str(parse_bytes(value))}
    note = f"a killed rank loses at most {value} of each unit that is open"
    return Spelling(environment=environment, note=note) if environment else None


KNOBS = (
    Knob(
        name="stdout-buffer",
        sentence="A buffer that gathers the lines of each rank's stdout, and sends them whole, in order",
        why="Line by line, output wakes the launcher's daemons for each; MPICH leaves stdout unbuffered",
        source="measured: 4 ranks of 100,000 lines under MPICH, 6.2 s line by line, 0.4 s in blocks",
        domain=_SIZES,
        values=lambda _: ("64KiB",),
        applies=reachable,
        promise=_stdout_promise,
        files=FilesEffect.LATE,
        spell=_held_back("MPIRIC_STDOUT_KIB", "of its stdout"),
        matters_when=("printed_bytes >= 1e4",),
        ceiling=("io_bound", "outside_bound"),
        symptoms=("io_share",),
    ),
    Knob(
        name="stdio-buffer",
        sentence="The buffer of streams that a program opens by fopen to write, unless it sets one itself",
        why="glibc writes 4 or 8 KiB at a time; a parallel file system wants requests of a MiB",
        source="setvbuf(3), glibc's manual 'Controlling Which Kind of Buffering'",
        domain=_SIZES,
        values=lambda _: ("1MiB", "4MiB"),
        applies=reachable,
        promise=_files_promise,
        files=FilesEffect.LATE,
        spell=_held_back("MPIRIC_STDIO_KIB", "of each stream that is open"),
        matters_when=_WRITES_MUCH,
        ceiling=_WRITING,
        symptoms=("io_share", "file_share"),
    ),
    Knob(
        name="write-behind",
        sentence="A buffer that joins small writes to a file that a process writes from begin to end",
        why="C++'s endl, unbuffered Fortran and scripts write line by line; uncached clients send each on",
        source="AMReX issue 4426: flushes moved by hand took a plot file from 30 minutes to 1 on 1024 nodes",
        domain=_SIZES,
        values=lambda _: ("1MiB", "4MiB"),
        applies=_small_writes_applies,
        promise=_files_promise,
        files=FilesEffect.LATE,
        spell=_held_back("MPIRIC_WRITE_BEHIND_KIB", "of each file that it writes"),
        matters_when=("small_io_share >= 0.05",),
        ceiling=_WRITING,
        symptoms=_SMALL,
    ),
    Knob(
        name="access-times",
        sentence="Whether reading a file sets when it was read",
        why="Each first read of a file after a change sends an update to the metadata server",
        source="open(2), O_NOATIME; mount(8), relatime",
        domain=Choice(("off",)),
        values=lambda _: ("off",),
        applies=_times_applies,
        promise=lambda situation: Promise(
            0.15 if _on_network(situation) else 0.05, "files are read where reads may set access times"
        ),
        files=FilesEffect.LATE,
        spell=_spell_times,
        matters_when=("io_bytes_read >= 1",),
        ceiling=("io_bound",),
        symptoms=("io_share",),
    ),
    Knob(
        name="fortran-buffers",
        sentence="The buffers of the units of Fortran programs built by gfortran or Intel's compilers",
        why="gfortran writes 8 KiB of formatted output at a time, Intel Fortran each record by itself",
        source=(
            "measured: 40,000 small records, 196 writes by default, 5 with 1 MiB; gfortran manual 'Runtime', "
            "Intel Fortran developer guide, FORT_BUFFERED"
        ),
        domain=Bytes(8 * _KIB, 64 * _MIB),
        values=lambda _: ("1MiB", "4MiB"),
        applies=_fortran_applies,
        promise=_files_promise,
        files=FilesEffect.LATE,
        spell=_spell_fortran,
        matters_when=_WRITES_MUCH,
        ceiling=_WRITING,
        symptoms=_SMALL,
    ),
)
