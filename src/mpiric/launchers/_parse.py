"""Arguments of a command line → Job."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from mpiric.launchers._arguments import (
    IsProgram,
    binding_wrapper,
    is_assignment,
    leading_assignments,
    parse_options,
    prefix_length,
)
from mpiric.launchers._dialect import Dialect, Scope, words
from mpiric.launchers._draft import scope_of
from mpiric.launchers._in_front import refuse_hidden_launcher
from mpiric.launchers._registry import dialects
from mpiric.launchers.containers import split_container
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.job import Job, Meaning, Segment

ReadText = Callable[[str], str]

# Known launchers without a dialect; their command lines must not be mistaken for programs.
_OTHERS = frozenset(words("jsrun lrun flux ibrun mpirun_rsh mpiexec_mpt ccmrun poe yod rsmpi ddt map"))
_USUAL_DIALECT = "openmpi5"  # supports the options that most launch lines use


def launcher_word(argv: Sequence[str]) -> str | None:
    """Return the argument that names the launcher, as written; None if the command names none."""
    at = prefix_length(argv)
    return argv[at] if at < len(argv) and _stem(argv[at]) in _launcher_names() else None


def ambiguous_launcher_word(argv: Sequence[str]) -> str | None:
    """Return the launcher, such as ``/opt/x/bin/mpiexec``, if its MPI library determines the dialect."""
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
    read_text: ReadText | None = None,
) -> Job:
    """Parse the launch line of the user.

    ``dialect`` is the dialect of the `ambiguous_launcher_word`, None if no MPI library has it. The default
    suffices if only ranks, nodes and program matter. ``is_program`` returns whether an argument can be
    executed, which determines where an unknown option ends. ``read_text`` reads a file that contains programs
    of the launch, which then become its segments. Raises MpiricError.
    """
    arguments = tuple(argv)
    at = prefix_length(arguments)
    if at >= len(arguments) or not arguments[at]:
        raise MpiricError(
            "the command contains no program" if arguments else "the command is empty",
            hint="write your launch line after '--', for example: -- mpirun -n 4 ./app",
        )
    job_dialect = _dialect(arguments[at], dialect)
    if not job_dialect.launcher_names:
        refuse_hidden_launcher(arguments[at:], lambda word: _stem(word) in _launcher_names())
    launcher = arguments[at : at + 1] if job_dialect.launcher_names else ()
    is_program = is_program or looks_like_program
    segments = _segments(job_dialect, arguments[at + len(launcher) :], is_program)
    if read_text is not None:
        segments = _with_listed_programs(job_dialect, segments, is_program, read_text)
    assigned = dict(word.split("=", 1) for word in arguments[: leading_assignments(arguments)])
    return Job(
        argv=arguments,
        dialect=job_dialect.name,
        prefix=arguments[:at],
        launcher_words=launcher,
        segments=segments,
        working_directory=working_directory,
        environment={**environment, **assigned},
        stdin=stdin,
        container=split_container(segments[0].program),
        launcher=job_dialect.traits,
        binding_wrapper=binding_wrapper(segments[0].program),
    )


def looks_like_program(word: str) -> bool:
    """Return whether an argument can be a program by its characters: not a number, list or setting."""
    return not word.isdigit() and not any(letter in word for letter in ",:=") and not is_assignment(word)


def _stem(word: str) -> str:
    return word.rsplit("/", 1)[-1]


def _launcher_names() -> frozenset[str]:
    return frozenset(name for dialect in dialects().values() for name in dialect.launcher_names)


def _neutral_dialect(word: str) -> Dialect | None:
    """Return the dialect of a launcher that serves all MPI libraries."""
    stem = _stem(word)
    return next((d for d in dialects().values() if d.neutral and stem in d.launcher_names), None)


def _dialect(word: str, name: str | None) -> Dialect:
    if neutral := _neutral_dialect(word):
        return neutral
    stem = _stem(word)
    if stem in _OTHERS:
        raise MpiricError(
            f"mpiric does not support the launcher '{word}'",
            hint=f"use one of {', '.join(sorted(_launcher_names()))}",
        )
    if stem not in _launcher_names():
        return dialects()["direct"]
    if name is None or name not in dialects():
        raise NotFoundError(
            f"'{word}' does not belong to an MPI library that mpiric can find",
            hint="list them with 'mpiric mpi list', or write the full path of the launcher",
        )
    return dialects()[name]


def _with_listed_programs(
    dialect: Dialect, segments: tuple[Segment, ...], is_program: IsProgram, read_text: ReadText
) -> tuple[Segment, ...]:
    """Return the segments, with one segment for each line of a file that lists programs."""
    listed: list[Segment] = []
    for segment in segments:
        file = segment.first(Meaning.PROGRAM_FILE)
        if file is None or not file.values:
            listed.append(segment)
            continue
        name = file.values[0]
        lines = (line.strip() for line in read_text(name).splitlines())
        try:
            listed_words = [dialect.file_words(line) for line in lines if line and not line.startswith("#")]
        except ValueError as error:
            raise MpiricError(
                f"the file {name!r} cannot be read: {error}", hint="check its quotes"
            ) from error
        if not listed_words:
            raise MpiricError(f"the file {name!r} lists no program", hint="write one line per program")
        before = [option for option in segment.options if option is not file]
        if dialect.program_file_replaces_options:
            before = [option for option in before if scope_of(dialect, option) is Scope.LAUNCH]
        for line_words in listed_words:
            new = _segments(dialect, line_words, is_program)
            if any(one.first(Meaning.PROGRAM_FILE) for one in new):
                raise MpiricError(
                    f"the file {name!r} names another file of programs", hint="write its lines into this file"
                )
            listed += [replace(new[0], options=(*before, *new[0].options)), *new[1:]]
            before = []
    return tuple(listed)


def _segments(dialect: Dialect, arguments: Sequence[str], is_program: IsProgram) -> tuple[Segment, ...]:
    if not dialect.launcher_names:
        return (Segment((), tuple(arguments)),)
    segments: list[Segment] = []
    start = 0
    for end in [*(at for at, word in enumerate(arguments) if word == ":"), len(arguments)]:
        options, length = parse_options(dialect, arguments[start:end], is_program)
        segment = Segment(options, tuple(arguments[start + length : end]))
        file = segment.first(Meaning.PROGRAM_FILE)
        if not segment.program and (file is None or not file.values):
            position = "after ':'" if start else "after the launcher's options"
            raise MpiricError(
                f"the program is missing {position}",
                hint="end the launch line with the program to run, for example: mpirun -n 4 ./app",
            )
        segments.append(segment)
        start = end + 1
    return tuple(segments)
