"""A command line, already split into words, → Job."""

from collections.abc import Mapping, Sequence

from mpiric.launchers._dialect import Dialect
from mpiric.launchers._options import IsProgram, parse_options
from mpiric.launchers._prefix import is_assignment, leading_assignments, prefix_length
from mpiric.launchers._registry import dialects
from mpiric.launchers._words import words
from mpiric.launchers.containers import split_container
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.job import Job, Meaning, Segment

# Launchers mpiric meets but does not speak; their command lines must not be mistaken for programs.
_OTHERS = frozenset(words("jsrun lrun flux ibrun mpirun_rsh mpiexec_mpt ccmrun poe yod rsmpi ddt map"))
_USUAL_DIALECT = "openmpi5"  # knows the options that launch lines have in common


def launcher_word(argv: Sequence[str]) -> str | None:
    """The word that names the launcher, as written, or None when the command names none."""
    at = prefix_length(argv)
    return argv[at] if at < len(argv) and _stem(argv[at]) in _launcher_names() else None


def ambiguous_launcher_word(argv: Sequence[str]) -> str | None:
    """The launcher's word, such as ``/opt/x/bin/mpiexec``, where its MPI library determines the dialect."""
    word = launcher_word(argv)
    return None if word is None or _neutral_dialect(word) else word


def parse_command(
    argv: Sequence[str],
    working_directory: str,
    environment: Mapping[str, str],
    stdin: str = "",
    *,
    dialect: str | None = _USUAL_DIALECT,
    is_program: IsProgram | None = None,
) -> Job:
    """Parse the user's launch line.

    ``dialect`` is that of the `ambiguous_launcher_word`, None when no MPI library has it; where only ranks,
    nodes and program matter, the usual one reads them all. ``is_program`` says whether a word can be
    executed, which settles where an option unknown to mpiric ends. Raises MpiricError.
    """
    words = tuple(argv)
    at = prefix_length(words)
    if at >= len(words) or not words[at]:
        raise MpiricError(
            "there is no program in the command" if words else "there is no command",
            hint="write your own launch line after '--', such as: -- mpirun -n 4 ./app",
        )
    spoken = _dialect(words[at], dialect)
    launcher = words[at : at + 1] if spoken.launcher_names else ()
    segments = _segments(spoken, words[at + len(launcher) :], is_program or looks_like_program)
    assigned = dict(word.split("=", 1) for word in words[: leading_assignments(words)])
    return Job(
        argv=words,
        dialect=spoken.name,
        prefix=words[:at],
        launcher_words=launcher,
        segments=segments,
        working_directory=working_directory,
        environment={**environment, **assigned},
        stdin=stdin,
        container=split_container(segments[0].program),
        launcher=spoken.traits,
    )


def looks_like_program(word: str) -> bool:
    """Whether a word can be a program by its letters alone: it is no number, list or setting."""
    return not word.isdigit() and not any(letter in word for letter in ",:=") and not is_assignment(word)


def _stem(word: str) -> str:
    return word.rsplit("/", 1)[-1]


def _launcher_names() -> frozenset[str]:
    return frozenset(name for dialect in dialects().values() for name in dialect.launcher_names)


def _neutral_dialect(word: str) -> Dialect | None:
    """The dialect of a launcher that serves every MPI library."""
    stem = _stem(word)
    return next((each for each in dialects().values() if each.neutral and stem in each.launcher_names), None)


def _dialect(word: str, name: str | None) -> Dialect:
    if neutral := _neutral_dialect(word):
        return neutral
    stem = _stem(word)
    if stem in _OTHERS:
        raise MpiricError(
            f"'{word}' is a launcher that mpiric does not speak",
            hint=f"it speaks {', '.join(sorted(_launcher_names()))}",
        )
    if stem not in _launcher_names():
        return dialects()["direct"]
    if name is None or name not in dialects():
        raise NotFoundError(
            f"'{word}' belongs to no MPI library that mpiric can find",
            hint="'mpiric mpi list' shows what was found; give the launcher's full path if it is elsewhere",
        )
    return dialects()[name]


def _segments(dialect: Dialect, words: Sequence[str], is_program: IsProgram) -> tuple[Segment, ...]:
    if not dialect.launcher_names:
        return (Segment((), tuple(words)),)
    segments: list[Segment] = []
    start = 0
    for end in [*(at for at, word in enumerate(words) if word == ":"), len(words)]:
        found, taken = parse_options(dialect, words[start:end], is_program)
        segment = Segment(found, tuple(words[start + taken : end]))
        if not segment.program and segment.first(Meaning.PROGRAM_FILE) is None:
            position = "after ':'" if start else "after the launcher's options"
            raise MpiricError(
                f"there is no program {position}",
                hint="the launch line must end with the program to run, such as: mpirun -n 4 ./app",
            )
        segments.append(segment)
        start = end + 1
    return tuple(segments)
