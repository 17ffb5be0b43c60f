"""Output that reaches files and the screen later: the same bytes in the same order, in fewer, larger writes.

mpiric's runtime buffers it (`src/runtime/deferred`). A killed run loses at most the buffers; each note says
so. All of it is tried with ``--allow-late`` only.
"""

from collections.abc import Callable, Mapping

from mpiric.knobs._outputs import output_system
from mpiric.model.amount import share, size
from mpiric.model.knob import Bytes, FilesEffect, Knob, Skip, Try, parse_bytes
from mpiric.model.launch import Spelling
from mpiric.model.situation import Situation


def no_runtime(situation: Situation) -> str:
    """Return why the runtime cannot be loaded into the ranks; "" if it can."""
    if not situation.tuner.library:
        return situation.tuner.why_not or "this installation has no runtime for this MPI"
    return situation.no_preload


def by_the_runtime(situation: Situation, environment: Mapping[str, str], note: str = "") -> Spelling | None:
    """Return a spelling that loads the runtime with options; None without a runtime for this MPI."""
    library = situation.tuner.library
    return Spelling(environment=environment, preload=(library,), note=note) if library else None


_KIB, _MIB = 1 << 10, 1 << 20
_SIZES = Bytes(16 * _KIB, 64 * _MIB)
_LATE_S = 0.2  # default of MPIRIC_LATE_MS, in seconds
_WRITING = ("io_bound", "unsafe_bound")
_LEAST_WRITTEN = 1e5  # bytes
_SMALL = ("io_share", "small_io_share")
_FEW_LINES = 8.0  # lines per flush; with more lines there is little to gain


def _held_back(variable: str, loses: str) -> Callable[[str, Situation], Spelling | None]:
    def settings(value: str, situation: Situation) -> Spelling | None:
        note = f"a killed rank loses at most {value} {loses}, none of it older than {_LATE_S:g} s"
        return by_the_runtime(situation, {variable: str(parse_bytes(value) // _KIB)}, note)

    return settings


def _try_buffers(situation: Situation) -> Try:
    """Propose buffer sizes for files."""
    system, values = output_system(situation), ("1MiB", "4MiB")
    if system is not None and system.is_network:
        return Try(values, 0.3, "files are on a network file system, and each write may be a request")
    return Try(values, 0.1, "the kernel joins small writes to a local file by itself")


def _written_little(situation: Situation) -> str:
    written = situation.shown("io_bytes_written")
    return "" if written >= _LEAST_WRITTEN else f"{size(written)} are written to files"


def _consider_stdout(situation: Situation) -> Skip | Try:
    if reason := no_runtime(situation):
        return Skip(reason)
    if (printed := situation.shown("printed_bytes")) < 1e4:
        return Skip(f"{size(printed)} are printed")
    if 0 < (lines := situation.number("lines_per_flush")) < _FEW_LINES:
        return Try(("64KiB",), 0.5, f"{lines:.3g} lines go to the launcher at a time", ("64KiB",))
    return Try(("64KiB",), 0.2, "each rank's lines go through the launcher")


def _consider_stdio(situation: Situation) -> Skip | Try:
    reason = no_runtime(situation) or _written_little(situation)
    return Skip(reason) if reason else _try_buffers(situation)


def _consider_write_behind(situation: Situation) -> Skip | Try:
    small = situation.number("small_io_share")
    if situation.observation.behaviour and situation.number("io_accesses") * small < 1:
        return Skip("no access to a file is a small one")
    if reason := no_runtime(situation):
        return Skip(reason)
    if situation.shown("small_io_share") < 0.05:
        return Skip(f"{share(small)} of the accesses to files are small")
    return _try_buffers(situation)


KNOBS = (
    Knob(
        name="stdout-buffer",
        sentence="A buffer that gathers the lines of each rank's stdout, and sends them whole, in order",
        why="Line by line, output wakes the launcher's daemons for each; MPICH leaves stdout unbuffered",
        source="measured: 4 ranks of 100,000 lines under MPICH, 6.2 s line by line, 0.4 s in blocks",
        evidence="benchmarks/results/io_programs.md: lines on stdout, 6.73 times as fast",
        domain=_SIZES,
        consider=_consider_stdout,
        files=FilesEffect.LATE,
        settings=_held_back("MPIRIC_STDOUT_KIB", "of its stdout"),
        touches=("io_bound", "outside_bound"),
        symptoms=("io_share",),
    ),
    Knob(
        name="stdio-buffer",
        sentence="The buffer of streams that a program opens by fopen to write, unless it sets one itself",
        why="glibc writes 4 or 8 KiB at a time; a parallel file system wants requests of a MiB",
        source="setvbuf(3), glibc's manual 'Controlling Which Kind of Buffering'",
        evidence=(
            "https://github.com/biod/sambamba/issues/29: 4 s in write(2) by default, 2 s with a buffer of 1 "
            "MiB"
        ),
        domain=_SIZES,
        consider=_consider_stdio,
        files=FilesEffect.LATE,
        settings=_held_back("MPIRIC_STDIO_KIB", "of each stream that is open"),
        touches=_WRITING,
        symptoms=("io_share", "file_share"),
    ),
    Knob(
        name="write-behind",
        sentence="A buffer that joins small writes to a file that a process writes from begin to end",
        why="C++'s endl, unbuffered Fortran and scripts write line by line; uncached clients send each on",
        source="AMReX issue 4426: flushes moved by hand took a plot file from 30 minutes to 1 on 1024 nodes",
        evidence="benchmarks/results/io_programs.md: C++ with endl, 2.55 times as fast",
        domain=_SIZES,
        consider=_consider_write_behind,
        files=FilesEffect.LATE,
        settings=_held_back("MPIRIC_WRITE_BEHIND_KIB", "of each file that it writes"),
        touches=_WRITING,
        symptoms=_SMALL,
    ),
)
