"""Rendering: conversion of a configuration (knob → value) to a Launch (command line, environment, files).

`render` works in four steps:

1. `with_arguments` replaces the program's arguments that the configuration selects.
2. `completed` adds the values that the chosen values need from other knobs.
3. `spellings` finds the spelling of each value: the variables, launcher options and preloads that set it. It
   is written by the knob itself, by the launcher or by the MPI library. Knobs that set one variable to
   different values are refused.
4. `launchers.render` puts the spellings on the command line and into the environment of the job.

The knobs ``mpi`` and ``launch-route`` select another MPI library or launcher. They are spelled in the
situation of the user's command, all other knobs in the situation that these two select.
"""

from collections.abc import Mapping
from dataclasses import replace
from posixpath import basename

from mpiric import knobs, launchers, mpis
from mpiric.model.configuration import PARAMETER, Configuration, substitute
from mpiric.model.errors import MismatchError, MpiricError, NoRuntimeError
from mpiric.model.job import Job, Launch, Meaning, Segment, Setting, Spelling
from mpiric.model.knob import Knob
from mpiric.model.rank_order import RankOrders
from mpiric.model.situation import Situation, Tuner

TUNABLES_VARIABLE = "GLIBC_TUNABLES"
_ASAN = "libasan.so"
_RUNTIME = "libmpiric.so"
_SWITCHES = ("mpi", "launch-route")  # knobs that change the spelling of all others


def render(configuration: Configuration, situation: Situation, carried: Spelling | None = None) -> Launch:
    """Return the Launch of a configuration; for the empty one, the user's unchanged command.

    ``carried`` is added for the ranks: the recording runtime. Raises the errors of `spellings`.
    """
    situation = with_arguments(configuration, situation)
    job = situation.job
    values = completed(configuration, situation).as_dict()
    by_knob = spellings(configuration, situation)
    parts = [(knob, values[knob], spelling) for knob, spelling in by_knob.items()]
    if carried:
        parts.append(("record", "on", carried))
    # The runtime must precede an MPI library in the preloads, otherwise it would not intercept calls.
    parts.sort(key=lambda part: part[0] == "mpi")
    sanitizer = _sanitizer(situation)
    if sanitizer and any(spelling.preload for _, _, spelling in parts):
        parts.insert(0, ("sanitizer", "first", Spelling(preload=sanitizer)))
    launch = launchers.render(job, parts)
    arguments = [
        Setting(name, f"{name}={value}", value, "command line") for name, value in job.parameters.items()
    ]
    inputs = {path: substitute((text,), job.parameters)[0] for path, text in job.file_templates.items()}
    return replace(launch, settings=(*launch.settings, *arguments), files={**launch.files, **inputs})


def can_be_written(configuration: Configuration, situation: Situation) -> bool:
    """Return whether one launch line can express the configuration without conflicts between knobs."""
    try:
        render(configuration, situation)
    except MismatchError:
        return False
    return True


def as_variables(configuration: Configuration, situation: Situation) -> Launch:
    """Return a launch whose environment has the effect of the settings, for any launch line.

    It is rendered for a program that is started directly: options of the launcher become variables if the
    library has such variables, and are refused otherwise.
    """
    program = situation.job.program
    direct = replace(
        situation.job,
        dialect="direct",
        prefix=(),
        launcher_words=(),
        segments=(Segment((), program),),
        argv=program,
        template=situation.job.template[-len(program) :],
    )
    return render(configuration, replace(situation, job=direct))


def with_arguments(configuration: Configuration, situation: Situation) -> Situation:
    """Return the situation with the arguments that the parameters of a configuration select."""
    values = {name: value for name, value in configuration.items if PARAMETER.fullmatch(name)}
    return replace(situation, job=launchers.with_parameters(situation.job, values))


def completed(configuration: Configuration, situation: Situation) -> Configuration:
    """Add the values that the chosen values need from other knobs, unless those are chosen too."""
    switched = _switched(configuration, situation)
    values = configuration.as_dict()
    for name, value in configuration.items:
        brings = knobs.knob_named(name).brings
        for other, needed in (brings(value, switched) if brings else {}).items():
            if spell(knobs.knob_named(other), needed, switched) is not None:
                values.setdefault(other, needed)
    return Configuration.of(values)


def spellings(configuration: Configuration, situation: Situation) -> dict[str, Spelling]:
    """Return the spelling of each knob of the completed configuration, without conflicts.

    Raises MismatchError for a value without a spelling, and for conflicts between knobs; NoRuntimeError for
    a value that needs the runtime if it cannot be loaded.
    """
    switched = _switched(configuration, situation)
    chosen = configuration.as_dict()
    changes_layout = bool(chosen.keys() & {"mapping", "threads-per-rank"})
    by_knob: dict[str, Spelling] = {}
    for name, value in completed(configuration, situation).items:
        knob = knobs.knob_named(name)
        spelling = None
        if name not in chosen and not changes_layout:
            spelling = launchers.spell_carried(name, value, switched)
        if spelling is None:
            spelling = spell(knob, value, situation if name in _SWITCHES else switched)
        if spelling is None:
            raise _no_spelling(knob, value, switched)
        by_knob[name] = spelling
    return merge_spellings(by_knob, situation.job.environment)


def _switched(configuration: Configuration, situation: Situation) -> Situation:
    """Return the situation with the MPI library and the launcher that the configuration selects."""
    values = configuration.as_dict()
    switched = knobs.switched(situation, values)
    route = values.get("launch-route")
    if route == "srun":
        dialect = "srun"
    elif route == "mpirun" or "mpi" in values:
        dialect = switched.mpi.dialect
    else:
        return switched
    return replace(switched, job=replace(switched.job, dialect=dialect))


def spell(knob: Knob, value: str, situation: Situation) -> Spelling | None:
    """Return the spelling of a value: by the knob itself, else by the launcher, else by the MPI library."""
    if knob.settings is not None:
        return knob.settings(value, situation)
    by_launcher = launchers.spell(knob.name, value, situation)
    if by_launcher is not None:
        return by_launcher
    return mpis.spell(knob.name, value, situation)


def _no_spelling(knob: Knob, value: str, situation: Situation) -> MpiricError:
    """Return the error for a value without a spelling: it is not supported, or it needs the runtime."""
    hint = f"take another value, or leave {knob.name} out"
    if situation.tuner.why_not:
        # Would the value have a spelling if the runtime could be loaded?
        family = next(iter(situation.mpi.abi_families), "")
        orders = RankOrders(library=_RUNTIME, engine=_RUNTIME, family=family)
        tuner = Tuner(library=_RUNTIME, policy=_RUNTIME)
        if spell(knob, value, replace(situation, tuner=tuner, rank_orders=orders)) is not None:
            return NoRuntimeError(f"{knob.name}={value} cannot be set: {situation.tuner.why_not}", hint=hint)
    launcher = basename(situation.job.launcher_words[0]) if situation.job.launcher_words else "no launcher"
    where = f"for {situation.mpi.label} with {launcher}"
    return MismatchError(f"{knob.name}={value} cannot be set {where}", hint=hint)


def merge_spellings(by_knob: Mapping[str, Spelling], environment: Mapping[str, str]) -> dict[str, Spelling]:
    """Merge glibc tunables into one variable, and detect conflicts between knobs.

    ``environment`` is the environment of the ranks without the configuration. A variable that one knob sets
    and another removes stays set. Raises MismatchError if two knobs set a variable or tunable to different
    values.
    """
    tunables: dict[str, str] = {}
    variables: dict[str, str] = {}
    writers: dict[str, str] = {}  # variable or tunable → first knob that sets it
    for knob, spelling in by_knob.items():
        for set_by_knob, merged_values in ((spelling.tunables, tunables), (spelling.environment, variables)):
            for name, value in set_by_knob.items():
                if merged_values.setdefault(name, value) != value:
                    raise MismatchError(
                        f"the knobs {writers[name]} and {knob} want different values of {name}: "
                        f"{merged_values[name]!r} and {value!r}",
                        hint=f"set only one of them (in `mpiric tune`: --without {knob})",
                    )
                writers.setdefault(name, knob)
    tunables_list = merge_tunables(environment.get(TUNABLES_VARIABLE, ""), tunables)
    merged = {}
    for knob, spelling in by_knob.items():
        variables_of_knob = dict(spelling.environment)
        if spelling.tunables and tunables_list:  # the first knob with tunables sets the whole list
            variables_of_knob[TUNABLES_VARIABLE], tunables_list = tunables_list, ""
        unset = tuple(name for name in spelling.unset if name not in variables)
        merged[knob] = replace(spelling, environment=variables_of_knob, tunables={}, unset=unset)
    return merged


def merge_tunables(inherited: str, chosen: Mapping[str, str]) -> str:
    """Return the user's list with ``chosen`` added or replaced; the user's entries stay first."""
    merged: dict[str, str] = {}
    for entry in inherited.split(":"):
        name, equals, value = entry.partition("=")
        if equals and name:
            merged[name] = value
    merged.update(chosen)
    return ":".join(f"{name}={value}" for name, value in merged.items())


def _sanitizer(situation: Situation) -> tuple[str, ...]:
    """Return the AddressSanitizer of a program: it must be loaded first, otherwise it ends the program."""
    if situation.job.container is not None:
        return ()
    loaded = (path for rank in situation.observation.ranks for path in rank.libraries)
    return tuple(path for path in loaded if path.startswith("/") and basename(path).startswith(_ASAN))[:1]


def line_without_program(job: Job) -> tuple[str, ...]:
    """Return the launch line without the program. Raises MismatchError if the program cannot be replaced."""
    if job.container is not None:
        raise MismatchError(
            f"mpiric's own programs cannot run in the container {job.container.image}",
            hint="give a program outside of the container, with the same launcher",
        )
    if not job.launcher_words:
        raise MismatchError("the launch line has no launcher", hint="write for example mpirun -n 4 ./app")
    options = tuple(option for segment in job.segments for option in segment.options)
    if len(job.segments) > 1 or any(option.meaning is Meaning.PROGRAM_FILE for option in options):
        raise MismatchError(
            "the launch line has several programs", hint="give a launch line with one program"
        )
    return (*job.prefix, *job.launcher_words, *(token for option in options for token in option.tokens))
