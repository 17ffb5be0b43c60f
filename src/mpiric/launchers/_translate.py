"""Translation of a job to another launcher: by the meaning of options, refused without a counterpart."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from mpiric.launchers._arguments import parse_option
from mpiric.launchers._dialect import Dialect, Facet, Scope, Words, dialects
from mpiric.launchers._draft import identity, known, scope_of, twin
from mpiric.launchers._hosts import host_facets, read_hosts, seated
from mpiric.model.amount import count_of
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError
from mpiric.model.job import Job, LaunchOption, Meaning, Segment

# Default of other launchers, or useless for them: the program runs in the same way without it.
_DISPENSABLE = frozenset({Meaning.SEPARATOR, Meaning.PROCESS_MANAGER})
_DEFAULTS = ((Meaning.ENVIRONMENT_LIMIT, ("all",)), (Meaning.STDIN, ("0",)))

# Only has the same meaning for launchers of one family, which also write it in the same way.
_OF_ONE_FAMILY = frozenset({Meaning.MPI_PARAMETER, Meaning.BOOTSTRAP, Meaning.LAUNCHER_ONLY, Meaning.OTHER})

# Concerns only the previous launcher or MPI library; the ranks under another one are the same without it.
_VOID_ELSEWHERE = frozenset({Meaning.MPI_PARAMETER, Meaning.LAUNCHER_ONLY})


@dataclass(frozen=True)
class Translation:
    """Job for another launcher, variables that replace some options, and options that were left out."""

    job: Job
    variables: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[LaunchOption, ...] = ()  # they only concern the previous launcher or its library


def translate(job: Job, target: Dialect, launcher_words: Words, *, crowded: bool = False) -> Translation:
    """Return the job under another launcher.

    A ``crowded`` job has more ranks than CPUs, which some launchers must be told by an option.
    Raises MismatchError that names an option without a counterpart, and the reason.
    """
    source = dialects()[job.dialect]
    if not job.launcher_words:
        raise MismatchError(
            "the command has no launcher that could be replaced",
            hint=f"write a launcher in front of the program: mpirun -n 2 {job.program[0]}",
        )
    if source.name == target.name:
        return Translation(replace(job, launcher_words=launcher_words))
    job = _with_all_slots(job, source)
    if job.ranks is None:
        raise MismatchError(
            f"the command does not set the number of ranks, but {target.name} needs it",
            hint="add the number of ranks (-n) to the launch line",
        )
    job = _spread(job, source)
    left_out: list[LaunchOption] = []
    translated = [_segment(source, target, segment, job, left_out) for segment in job.segments]
    variables = translated[0][1]
    if any(other_variables != variables for _, other_variables in translated):
        raise MismatchError(
            f"the programs of the launch get different variables, which {target.name} does not support",
            hint="give all programs the same variables, or keep the launcher",
        )
    gathered = _gathered([segment for segment, _ in translated], target)
    segments = tuple(_allowed(target, segment, crowded=crowded) for segment in gathered)
    job = replace(job, launcher_words=launcher_words, segments=segments)
    job = replace(job, dialect=target.name, launcher=target.traits)
    return Translation(job, variables, tuple(dict.fromkeys(left_out)))


def _spread(job: Job, source: Dialect) -> Job:
    """Return the job whose segments repeat each option that also applies to them, for several programs."""
    if len(job.segments) == 1:
        return job
    if any(len(read_hosts(source.hosts, segment, job.host_files)) > 1 for segment in job.segments):
        raise MismatchError(
            "hosts cannot be translated for a launch with several programs",
            hint="keep the launcher, or run the programs on one host",
        )
    shared = [
        option
        for at, segment in enumerate(job.segments)
        for option in segment.options
        if scope_of(source, option) is Scope.LAUNCH
        or (at == 0 and scope_of(source, option) is Scope.FOLLOWING)
    ]
    moved = any(segment.first(Meaning.WORKING_DIRECTORY) for segment in job.segments)
    if moved and Meaning.WORKING_DIRECTORY in source.write:
        default = source.write[Meaning.WORKING_DIRECTORY]((job.working_directory,))
        shared.append(parse_option(source, default or ()))
    segments = []
    for segment in job.segments:
        present = {identity(source, option) for option in segment.options}
        added = (option for option in shared if identity(source, option) not in present)
        segments.append(replace(segment, options=(*added, *segment.options)))
    return replace(job, segments=tuple(segments))


def _gathered(segments: Sequence[Segment], target: Dialect) -> list[Segment]:
    """Return the segments with each option of the whole launch written once.

    Raises MismatchError if the programs need different values of such an option.
    """
    if len(segments) == 1:
        return list(segments)
    gathered = []
    for at, segment in enumerate(segments):
        options = []
        for option in segment.options:
            scope = scope_of(target, option)
            if scope is Scope.SEGMENT:
                options.append(option)
            elif all(option in other.options for other in segments):
                options += [option] if at == 0 or scope is Scope.FOLLOWING else []
            elif option.meaning is Meaning.ENVIRONMENT and target.write_in_segment is not None:
                options.append(parse_option(target, target.write_in_segment(option.values) or ()))
            elif scope is Scope.LAUNCH or not all(_sets(other, option, target) for other in segments[at:]):
                raise _refusal(option, target, "it would apply to all programs of the launch")
            else:
                options.append(option)
        gathered.append(replace(segment, options=tuple(options)))
    return gathered


def _sets(segment: Segment, option: LaunchOption, dialect: Dialect) -> bool:
    key = identity(dialect, option)
    return any(identity(dialect, other) == key for other in segment.options)


def _allowed(target: Dialect, segment: Segment, *, crowded: bool) -> Segment:
    """Return the segment with permission to oversubscribe if the launcher needs it."""
    write = target.write.get(Meaning.OVERSUBSCRIBE)
    arguments = write(()) if crowded and write and segment.first(Meaning.OVERSUBSCRIBE) is None else None
    if not arguments:
        return segment
    return replace(segment, options=(parse_option(target, arguments), *segment.options))


def _with_all_slots(job: Job, source: Dialect) -> Job:
    """Return the job with as many ranks as slots if that is the default of its launcher."""
    form = source.hosts
    if job.ranks is not None or form is None or not form.fills:
        return job
    segments = []
    for segment in job.segments:
        slots = sum(host.slots for host in read_hosts(source.hosts, segment, job.host_files))
        if segment.first(Meaning.RANKS) is None and slots:
            ranks = parse_option(source, source.write[Meaning.RANKS]((str(slots),)) or ())
            segment = replace(segment, options=(ranks, *segment.options))
        segments.append(segment)
    return replace(job, segments=tuple(segments))


def _segment(
    source: Dialect, target: Dialect, segment: Segment, job: Job, left_out: list[LaunchOption]
) -> tuple[Segment, dict[str, str]]:
    """Return the translated segment and its variables; append options without effect to ``left_out``."""
    options: dict[tuple[object, ...], LaunchOption] = {}
    variables: dict[str, str] = {}
    for option in segment.options:
        for meaning, values in _facets(source, target, segment, option, job):
            if meaning is Meaning.OVERSUBSCRIBE and meaning not in target.write:
                continue  # the target starts any number of ranks
            if meaning in _DISPENSABLE or (meaning, values) in _DEFAULTS:
                continue
            name = _as_variable(source, target, option, (meaning, values))
            if name:
                variables[name] = values[-1]
                continue
            if _is_void(source, target, segment, option, meaning):
                left_out.append(option)
                continue
            arguments = _counterpart(source, target, segment, option, (meaning, values))
            if arguments:
                new = parse_option(target, arguments)
                key = identity(target, new)
                options[key] = joined(target, options[key], new) if key in options else new
    return Segment(tuple(options.values()), segment.program), variables


def _facets(
    source: Dialect, target: Dialect, segment: Segment, option: LaunchOption, job: Job
) -> tuple[Facet, ...]:
    """Return the meanings of an option, with hosts in a form that the target launcher accepts."""
    foreign = source.hosts is not target.hosts
    option = _by_parameter(source, option)
    if option.meaning not in {Meaning.HOSTS, Meaning.HOSTFILE} or not foreign:
        return source.facets(option)
    form, is_file = source.hosts, option.meaning is Meaning.HOSTFILE
    if is_file and segment.first(Meaning.HOSTS) is not None:
        return ()  # the list overrides the file
    if is_file and (form is None or option.values[0] not in job.host_files):
        raise _refusal(option, target, "the file cannot be read")
    ranks = segment.first(Meaning.RANKS)
    if form is None or ranks is None or not ranks.values[0].isdigit():
        return source.facets(option)
    hosts, count = read_hosts(source.hosts, segment, job.host_files), int(ranks.values[0])
    per_node = _on_each(source, segment)
    even = tuple(replace(host, slots=per_node or -(-count // len(hosts))) for host in hosts)
    facets = host_facets(target, hosts, seated(hosts if form.has_slots and not per_node else even, count))
    if facets is None:
        raise _refusal(option, target, "it has no syntax for hosts with these numbers of ranks")
    return tuple(facet for facet in facets if not per_node or facet[0] is not Meaning.RANKS_PER_NODE)


def _by_parameter(source: Dialect, option: LaunchOption) -> LaunchOption:
    """Return the launcher option with the effect of a parameter: ``--mca`` for a binding is ``--bind-to``."""
    variable = twin(source, option) if option.meaning is Meaning.MPI_PARAMETER else ""
    same = (entry for entry in source.options if entry.variable == variable and not entry.implied)
    entry = next(same, None) if variable else None
    return replace(option, meaning=entry.meaning, values=option.values[-1:]) if entry else option


def _on_each(source: Dialect, segment: Segment) -> int:
    """Return the ranks per node of a segment, 0 if not set."""
    facets = (facet for option in segment.options for facet in source.facets(option))
    text = next((values[0] for meaning, values in facets if meaning is Meaning.RANKS_PER_NODE), "")
    return count_of(text)


def _is_void(
    source: Dialect, target: Dialect, segment: Segment, option: LaunchOption, meaning: Meaning
) -> bool:
    """Return whether an option means nothing to the target launcher and to its MPI library."""
    if _are_kin(source, target) and known(target, option) is not None:
        return False
    if meaning is Meaning.BOOTSTRAP:
        is_on_hosts = segment.first(Meaning.HOSTS) or segment.first(Meaning.HOSTFILE)
        return target.neutral or not is_on_hosts
    return meaning in _VOID_ELSEWHERE


def _as_variable(source: Dialect, target: Dialect, option: LaunchOption, facet: Facet) -> str:
    """Return the variable that replaces an option under a launcher that belongs to no MPI library."""
    meaning, values = facet
    if meaning is Meaning.ENVIRONMENT and meaning not in target.write and len(values) == 2:
        return values[0]
    return twin(source, option) if meaning is Meaning.MPI_PARAMETER and target.neutral else ""


def joined(dialect: Dialect, under: LaunchOption, over: LaunchOption) -> LaunchOption:
    """Return one option for both, the second overriding the first. Raises MismatchError if impossible."""
    if under.values == over.values:
        return over
    merged = dialect.merge(over.meaning, under.values[-1], over.values[-1]) if over.values else None
    arguments = None if merged is None else dialect.write[over.meaning]((*over.values[:-1], merged))
    if arguments is None:
        raise MismatchError(f"'{' '.join(under.tokens)}' contradicts '{' '.join(over.tokens)}'")
    return parse_option(dialect, arguments)


def _counterpart(
    source: Dialect, target: Dialect, segment: Segment, option: LaunchOption, facet: Facet
) -> Words | None:
    meaning, values = facet
    arguments: Words | None = None
    if meaning is Meaning.ENVIRONMENT and meaning not in target.write:
        return ()  # passed on by default
    if meaning is Meaning.NODES and meaning not in target.write:
        arguments = _by_ranks_per_node(target, segment, values[0])
    elif meaning is Meaning.BINDING:
        arguments = _by_level(target, meaning, source.binding_words, target.binding_words, values[0])
    elif _is_default_order(segment, meaning, values):
        arguments = target.write[meaning](values) if _are_kin(source, target) else ()
    elif meaning is Meaning.MAPPING:
        arguments = _by_level(target, meaning, source.mapping_words, target.mapping_words, values[0])
    elif meaning in _OF_ONE_FAMILY:
        arguments = option.tokens if _are_kin(source, target) and known(target, option) else None
    elif meaning in target.write:
        arguments = target.write[meaning](values)
    if arguments is None:
        raise _refusal(option, target, "it has no counterpart")
    return arguments


def _is_default_order(segment: Segment, meaning: Meaning, values: Words) -> bool:
    """Return whether an option of Open MPI has ranks fill cores in order, the default of other launchers."""
    mapping = segment.first(Meaning.MAPPING)
    fills = mapping is None or mapping.values in (("core",), ("slot",))
    return (meaning, values) in ((Meaning.MAPPING, ("core",)), (Meaning.RANKING, ("slot",))) and fills


def _are_kin(source: Dialect, target: Dialect) -> bool:
    return source.hosts is target.hosts is not None


def _by_level(
    target: Dialect,
    meaning: Meaning,
    words_of_source: Mapping[str, str],
    words_of_target: Mapping[str, str],
    value: str,
) -> Words | None:
    if value and value == target.every_seat:
        return target.write[meaning]((value,))
    name = next((name for name, word in words_of_source.items() if word == value), None)
    if name == "compact":
        return ()  # ranks fill a node in order by default
    if name is None or name not in words_of_target or meaning not in target.write:
        return None
    return target.write[meaning]((words_of_target[name],))


def _by_ranks_per_node(target: Dialect, segment: Segment, nodes: str) -> Words | None:
    """Write ``-N 2`` of 8 ranks as 4 ranks per node, unless that is already set."""
    if segment.first(Meaning.RANKS_PER_NODE) is not None:
        return ()
    ranks = segment.first(Meaning.RANKS)
    count, total = count_of(nodes), count_of(ranks.values[0]) if ranks is not None else 0
    if not count or not total or total % count:
        return None
    return target.write[Meaning.RANKS_PER_NODE]((str(total // count),))


def _refusal(option: LaunchOption, target: Dialect, reason: str) -> MismatchError:
    return MismatchError(
        f"'{' '.join(option.tokens)}' cannot be translated for {target.launcher_names[0]}: {reason}",
        hint="remove the option, or keep the launcher",
    )
