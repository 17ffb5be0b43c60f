"""Output that reaches files and the screen later: the same bytes in the same order, in fewer, larger writes.

mpiric's runtime buffers it (`src/runtime/deferred`). A killed run loses at most the buffers; each note says
so. All of it is tried with ``--allow-late`` only.
"""

from collections.abc import Callable, Mapping

from mpiric.knobs._declaration import knob
from mpiric.knobs._outputs import output_system
from mpiric.model.amount import share, size
from mpiric.model.job import Spelling
from mpiric.model.knob import Bytes, FilesEffect, Skip, Try, parse_bytes
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
_LEAST_WRITTEN = 1e5  # bytes
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
    knob(
        "stdout-buffer",
        _SIZES,
        _consider_stdout,
        files=FilesEffect.LATE,
        settings=_held_back("MPIRIC_STDOUT_KIB", "of its stdout"),
    ),
    knob(
        "stdio-buffer",
        _SIZES,
        _consider_stdio,
        files=FilesEffect.LATE,
        settings=_held_back("MPIRIC_STDIO_KIB", "of each stream that is open"),
    ),
    knob(
        "write-behind",
        _SIZES,
        _consider_write_behind,
        files=FilesEffect.LATE,
        settings=_held_back("MPIRIC_WRITE_BEHIND_KIB", "of each file that it writes"),
    ),
)
