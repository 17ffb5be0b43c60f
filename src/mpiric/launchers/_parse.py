"""Arguments of a command line → Job; programs in front of the launcher are refused. Parameters of a Job."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from re import escape, fullmatch, search, sub

from mpiric.launchers._arguments import (
    IsProgram,
    binding_wrapper,
    is_assignment,
    leading_assignments,
    parse_option,
    parse_options,
    prefix_length,
    without_wrappers,
)
from mpiric.launchers._dialect import Dialect, Scope, dialects, words
from mpiric.launchers._draft import scope_of
from mpiric.launchers.containers import split_container
from mpiric.model.configuration import PARAMETER, substitute
from mpiric.model.errors import MismatchError, MpiricError, NotFoundError
from mpiric.model.job import Job, Meaning, Segment
from mpiric.model.quoting import sh_command

_SHELLS = frozenset(words("sh bash dash zsh ksh fish csh tcsh"))
_TOOLS = frozenset(  # examine or start the command that follows their own options
    words(
        """perf strace ltrace valgrind gdb cgdb lldb rr script xvfb-run sudo doas su runuser conda mamba
        micromamba pixi poetry pipenv hatch pdm rye uv uvx nix nix-shell guix spack ssh shifter sarus enroot
        salloc sbatch watch xargs parallel flock systemd-run unshare nsenter chroot setarch prlimit hyperfine
        cgexec firejail nsys ncu vtune aps likwid-perfctr likwid-pin scalasca scan tau_exec heaptrack memray
        dbus-run-session screen tmux tsp module proot make gmake ninja just"""
    )
)
_OF_RANKS = frozenset(words("valgrind gdb cgdb lldb rr perf strace ltrace heaptrack"))


def refuse_hidden_launcher(arguments: Sequence[str], is_launcher: Callable[[str], bool]) -> None:
    """Raise MpiricError if a program in front of the launcher hides it, with the line to write instead."""
    name = arguments[0].rsplit("/", 1)[-1]
    runs_script = name in _SHELLS and any(fullmatch(r"-[a-z]*c", word) for word in arguments[1:3])
    if name not in _TOOLS and not runs_script:
        return
    at = next((at for at, word in enumerate(arguments) if at and is_launcher(word)), 0)
    script = next((word for word in arguments[1:] if " " in word and _launcher_in(word, is_launcher)), "")
    if script:
        launcher = _launcher_in(script, is_launcher)
        place = rf"(^|[\s;&|(]){escape(launcher)}(?=\s)"
        inside = sub(place, rf"\1mpiric VERB -- {launcher}", script, count=1)
        line = sh_command(inside if word is script else word for word in arguments)
    elif at and not runs_script:
        launcher = arguments[at]
        line = sh_command((*arguments[:at], "mpiric", "VERB", "--", *arguments[at:]))
    else:
        return
    examine = f"; to examine the ranks, write {name} behind the launcher" if name in _OF_RANKS else ""
    raise MpiricError(
        f"'{name}' is in front of the launcher '{launcher}', where mpiric cannot change the launch line",
        hint=f"write mpiric directly in front of the launcher: {line}{examine}",
    )


def _launcher_in(script: str, is_launcher: Callable[[str], bool]) -> str:
    """Return the launcher that a command line in one argument calls, "" if none."""
    called = (word for word in script.replace(";", " ").replace("&", " ").split() if is_launcher(word))
    return next((word for word in called if search(rf"(^|[\s;&|(]){escape(word)}\s", script)), "")


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
    assigned = dict(word.split("=", 1) for word in arguments[:at] if is_assignment(word))  # also of `env`
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


def with_parameters(job: Job, values: Mapping[str, str]) -> Job:
    """Return the job with ``{NAME}`` replaced in its arguments; it keeps the command as the user wrote it.

    Raises MismatchError if the command does not contain a parameter, or a file lists its programs.
    """
    if not values:
        return job
    template = job.command
    for name in values:
        if not any(name in text for text in (*template, *job.file_templates.values())):
            raise MismatchError(
                f"the command does not contain {name}",
                hint=f"write {name} in the place of the argument, or give the --param-file of `mpiric tune`",
            )
    if (*job.prefix, *job.launcher_words, *job.after_launcher) != job.argv:
        raise MismatchError(
            "parameters cannot be replaced in a launch whose programs are listed in a file",
            hint="write the programs on the launch line, separated by ':'",
        )
    argv = substitute(template, {**job.parameters, **values})
    at = len(job.prefix) + len(job.launcher_words)
    segments = []
    for segment in job.segments:
        options = []
        for option in segment.options:
            tokens, at = argv[at : at + len(option.tokens)], at + len(option.tokens)
            unchanged = tokens == option.tokens
            options.append(option if unchanged else parse_option(dialects()[job.dialect], tokens))
        written = without_wrappers(template[at : at + len(segment.program)])
        if written and PARAMETER.fullmatch(written[0]):  # otherwise a recipe could start any program
            raise MismatchError(
                f"{written[0]} is in the place of the program, which cannot be a parameter",
                hint=f"write a part of its path before it, such as ./{written[0]}",
            )
        segments.append(Segment(tuple(options), argv[at : at + len(segment.program)]))
        at += len(segment.program) + 1  # the colon between segments
    prefix = argv[: len(job.prefix)]
    assigned = dict(word.split("=", 1) for word in prefix[: leading_assignments(prefix)])
    return replace(
        job,
        argv=argv,
        prefix=prefix,
        launcher_words=argv[len(prefix) : len(prefix) + len(job.launcher_words)],
        segments=tuple(segments),
        environment={**job.environment, **assigned},
        container=split_container(segments[0].program),
        binding_wrapper=binding_wrapper(segments[0].program),
        template=template,
        parameters={**job.parameters, **values},
    )
