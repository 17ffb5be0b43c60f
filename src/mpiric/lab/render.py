"""Conversion of knob values to a Launch: a value is spelled by the knob, the launcher or the library."""

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


def merge_tunables(inherited: str, chosen: Mapping[str, str]) -> str:
    """Return the user's list with ``chosen`` added or replaced; the user's entries stay first."""
    merged: dict[str, str] = {}
    for entry in inherited.split(":"):
        name, equals, value = entry.partition("=")
        if equals and name:
            merged[name] = value
    merged.update(chosen)
    return ":".join(f"{name}={value}" for name, value in merged.items())


def merge_spellings(spellings: Mapping[str, Spelling], environment: Mapping[str, str]) -> dict[str, Spelling]:
    """Merge glibc tunables into one variable, and detect conflicts between knobs.

    ``environment`` is the environment of the ranks without the configuration. A variable that one knob sets
    and another removes stays set. Raises MismatchError if two knobs set a variable or tunable to different
    values.
    """
    tunables: dict[str, str] = {}
    variables: dict[str, str] = {}
    writers: dict[str, str] = {}
    for knob, spelling in spellings.items():
        for written, merged_values in ((spelling.tunables, tunables), (spelling.environment, variables)):
            for name, value in written.items():
                if merged_values.setdefault(name, value) != value:
                    raise MismatchError(
                        f"the knobs {writers[name]} and {knob} want different values of {name}: "
                        f"{merged_values[name]!r} and {value!r}",
                        hint=f"set only one of them (in `mpiric tune`: --without {knob})",
                    )
                writers.setdefault(name, knob)
    merged = merge_tunables(environment.get(TUNABLES_VARIABLE, ""), tunables)
    result = {}
    for knob, spelling in spellings.items():
        variables_of_knob = dict(spelling.environment)
        if spelling.tunables and merged:
            variables_of_knob[TUNABLES_VARIABLE], merged = merged, ""
        unset = tuple(name for name in spelling.unset if name not in variables)
        result[knob] = replace(spelling, environment=variables_of_knob, tunables={}, unset=unset)
    return result


_ASAN = "libasan.so"
_ANY = "libmpiric.so"
_SWITCHES = ("mpi", "launch-route")  # knobs that change the spelling of all others


def spell(knob: Knob, value: str, situation: Situation) -> Spelling | None:
    """Return the spelling of a value: by the knob itself, else by the launcher, else by the MPI library."""
    if knob.settings is not None:
        return knob.settings(value, situation)
    by_launcher = launchers.spell(knob.name, value, situation)
    if by_launcher is not None:
        return by_launcher
    return mpis.spell(knob.name, value, situation)


def with_arguments(configuration: Configuration, situation: Situation) -> Situation:
    """Return the situation with the arguments that the parameters of a configuration select."""
    values = {name: value for name, value in configuration.items if PARAMETER.fullmatch(name)}
    return replace(situation, job=launchers.with_parameters(situation.job, values))


def spellings(configuration: Configuration, situation: Situation) -> dict[str, Spelling]:
    """Return the merged spelling of each knob.

    Raises MismatchError for a value without a spelling, and for conflicts between knobs; NoRuntimeError for
    a value that needs the runtime if it cannot be loaded.
    """
    written: dict[str, Spelling] = {}
    under = _switched(configuration, situation)
    chosen = configuration.as_dict()
    for name, value in completed(configuration, situation).items:
        knob = knobs.knob_named(name)
        spelling = None
        if name not in chosen and not chosen.keys() & {"mapping", "threads-per-rank"}:
            spelling = launchers.spell_carried(name, value, under)
        if spelling is None:
            spelling = spell(knob, value, situation if name in _SWITCHES else under)
        if spelling is None:
            raise _unwritten(knob, value, under)
        written[name] = spelling
    return merge_spellings(written, situation.job.environment)


def _unwritten(knob: Knob, value: str, situation: Situation) -> MpiricError:
    """Return why a value has no spelling: it is not supported, or it needs the runtime."""
    why, hint = situation.tuner.why_not, f"take another value, or leave {knob.name} out"
    if why and spell(knob, value, _with_a_runtime(situation)) is not None:
        return NoRuntimeError(f"{knob.name}={value} cannot be set: {why}", hint=hint)
    launcher = basename(situation.job.launcher_words[0]) if situation.job.launcher_words else "no launcher"
    where = f"for {situation.mpi.label} with {launcher}"
    return MismatchError(f"{knob.name}={value} cannot be set {where}", hint=hint)


def _with_a_runtime(situation: Situation) -> Situation:
    """Return the situation with a loadable runtime, to find out which values need it."""
    family = next(iter(situation.mpi.abi_families), "")
    orders = RankOrders(library=_ANY, engine=_ANY, family=family)
    return replace(situation, tuner=Tuner(library=_ANY, policy=_ANY), rank_orders=orders)


def completed(configuration: Configuration, situation: Situation) -> Configuration:
    """Add the values that the chosen values need from other knobs, unless those are chosen too."""
    under = _switched(configuration, situation)
    values = configuration.as_dict()
    for name, value in configuration.items:
        knob = knobs.knob_named(name)
        for other, needed in (knob.brings(value, under) if knob.brings else {}).items():
            if spell(knobs.knob_named(other), needed, under) is not None:
                values.setdefault(other, needed)
    return Configuration.of(values)


def _switched(configuration: Configuration, situation: Situation) -> Situation:
    """Return the situation for the other knobs: with another library or another launcher."""
    values = configuration.as_dict()
    under = knobs.switched(situation, values)
    if values.get("launch-route") == "srun":
        return replace(under, job=replace(under.job, dialect="srun"))
    by_library = "mpi" in values or values.get("launch-route") == "mpirun"
    return replace(under, job=replace(under.job, dialect=under.mpi.dialect)) if by_library else under


def can_be_written(configuration: Configuration, situation: Situation) -> bool:
    """Return whether one launch line can express the configuration without conflicts between knobs."""
    try:
        render(configuration, situation)
    except MismatchError:
        return False
    return True


def render(configuration: Configuration, situation: Situation, carried: Spelling | None = None) -> Launch:
    """Return the Launch of a configuration; for the empty one, the user's unchanged command.

    ``carried`` is added for the ranks: the recording runtime.
    """
    situation = with_arguments(configuration, situation)
    written = spellings(configuration, situation)
    chosen = completed(configuration, situation).as_dict()
    spelled = [(knob, chosen[knob], spelling) for knob, spelling in written.items()]
    beside = [("record", "on", carried)] if carried else []
    # The runtime must precede an MPI library in the preloads, otherwise it would not intercept calls.
    parts = sorted([*spelled, *beside], key=lambda part: part[0] == _SWITCHES[0])
    if (first := _sanitizer(situation)) and any(spelling.preload for _, _, spelling in parts):
        parts.insert(0, ("sanitizer", "first", Spelling(preload=first)))
    launch = launchers.render(situation.job, parts)
    replaced = (
        Setting(name, f"{name}={value}", value, "command line")
        for name, value in situation.job.parameters.items()
    )
    job = situation.job
    inputs = {path: substitute((text,), job.parameters)[0] for path, text in job.file_templates.items()}
    return replace(launch, settings=(*launch.settings, *replaced), files={**launch.files, **inputs})


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
