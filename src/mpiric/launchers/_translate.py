"""Translation of a job to the command line of another launcher, for example mpirun → srun.

Each option has a meaning that does not depend on the launcher (`Meaning`). A program with its options is a
segment of the launch line (``mpirun -n 1 a : -n 3 b`` has two). `translate` works in five steps:

1. Make implied values explicit: the number of ranks, if it follows from the slots of the hosts.
2. Repeat options that apply to several programs in the segment of each program.
3. Translate each segment, option by option. An option is dropped if the target launcher does the same without
   it, becomes a variable or an option of the target, is left out if it only concerned the previous launcher
   or MPI library, and is otherwise refused with the reason.
4. Write options that apply to the whole launch under the target only once.
5. Permit oversubscription if the target needs an option for it.
"""

from collections.abc import Mapping
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
_OF_PREVIOUS_LAUNCHER = frozenset({Meaning.MPI_PARAMETER, Meaning.LAUNCHER_ONLY})


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
    job = _with_default_ranks(job, source)
    if job.ranks is None:
        raise MismatchError(
            f"the command does not set the number of ranks, but {target.name} needs it",
            hint="add the number of ranks (-n) to the launch line",
        )
    job = _with_repeated_options(job, source)
    left_out: list[LaunchOption] = []
    translated = [_translate_segment(source, target, segment, job, left_out) for segment in job.segments]
    variables = translated[0][1]
    if any(other_variables != variables for _, other_variables in translated):
        raise MismatchError(
            f"the programs of the launch get different variables, which {target.name} does not support",
            hint="give all programs the same variables, or keep the launcher",
        )
    segments = _without_repeated_options([segment for segment, _ in translated], target)
    if crowded:
        segments = [_with_oversubscription(segment, target) for segment in segments]
    job = replace(job, launcher_words=launcher_words, segments=tuple(segments))
    job = replace(job, dialect=target.name, launcher=target.traits)
    return Translation(job, variables, tuple(dict.fromkeys(left_out)))


def _with_default_ranks(job: Job, source: Dialect) -> Job:
    """Return the job with as many ranks as slots if that is the default of its launcher."""
    if job.ranks is not None or source.hosts is None or not source.hosts.fills:
        return job
    segments = []
    for segment in job.segments:
        slots = sum(host.slots for host in read_hosts(source.hosts, segment, job.host_files))
        if segment.first(Meaning.RANKS) is None and slots:
            ranks = parse_option(source, source.write[Meaning.RANKS]((str(slots),)) or ())
            segment = replace(segment, options=(ranks, *segment.options))
        segments.append(segment)
    return replace(job, segments=tuple(segments))


def _with_repeated_options(job: Job, source: Dialect) -> Job:
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
    changes_directory = any(segment.first(Meaning.WORKING_DIRECTORY) for segment in job.segments)
    if changes_directory and Meaning.WORKING_DIRECTORY in source.write:
        default = source.write[Meaning.WORKING_DIRECTORY]((job.working_directory,))
        shared.append(parse_option(source, default or ()))
    segments = []
    for segment in job.segments:
        present = {identity(source, option) for option in segment.options}
        added = (option for option in shared if identity(source, option) not in present)
        segments.append(replace(segment, options=(*added, *segment.options)))
    return replace(job, segments=tuple(segments))


def _without_repeated_options(segments: list[Segment], target: Dialect) -> list[Segment]:
    """Return the segments with each option of the whole launch written once.

    Raises MismatchError if the programs need different values of such an option.
    """
    if len(segments) == 1:
        return segments
    result = []
    for at, segment in enumerate(segments):
        options = []
        for option in segment.options:
            scope, key = scope_of(target, option), identity(target, option)
            if scope is Scope.SEGMENT:
                options.append(option)
            elif all(option in other.options for other in segments):
                options += [option] if at == 0 or scope is Scope.FOLLOWING else []
            elif option.meaning is Meaning.ENVIRONMENT and target.write_in_segment is not None:
                options.append(parse_option(target, target.write_in_segment(option.values) or ()))
            elif scope is Scope.FOLLOWING and all(
                any(identity(target, other) == key for other in following.options)
                for following in segments[at:]
            ):
                options.append(option)  # each following program sets its own value
            else:
                raise _refusal(option, target, "it would apply to all programs of the launch")
        result.append(replace(segment, options=tuple(options)))
    return result


def _with_oversubscription(segment: Segment, target: Dialect) -> Segment:
    """Return the segment with permission to oversubscribe if the launcher has an option for it."""
    write = target.write.get(Meaning.OVERSUBSCRIBE)
    arguments = write(()) if write and segment.first(Meaning.OVERSUBSCRIBE) is None else None
    if not arguments:
        return segment
    return replace(segment, options=(parse_option(target, arguments), *segment.options))


def _translate_segment(
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
            name = _variable_name(source, target, option, (meaning, values))
            if name:
                variables[name] = values[-1]
                continue
            if _is_of_previous_launcher(source, target, segment, option, meaning):
                left_out.append(option)
                continue
            arguments = _counterpart(source, target, segment, option, (meaning, values))
            if arguments is None:
                raise _refusal(option, target, "it has no counterpart")
            if arguments:
                new = parse_option(target, arguments)
                key = identity(target, new)
                options[key] = joined(target, options[key], new) if key in options else new
    return Segment(tuple(options.values()), segment.program), variables


def _facets(
    source: Dialect, target: Dialect, segment: Segment, option: LaunchOption, job: Job
) -> tuple[Facet, ...]:
    """Return the meanings of an option with their values, hosts in a form that the target accepts."""
    if option.meaning is Meaning.MPI_PARAMETER and (variable := twin(source, option)):
        # A parameter may have the effect of an option: ``--mca`` for a binding is ``--bind-to``.
        for entry in source.options:
            if entry.variable == variable and not entry.implied:
                option = replace(option, meaning=entry.meaning, values=option.values[-1:])
                break
    if option.meaning not in {Meaning.HOSTS, Meaning.HOSTFILE} or source.hosts is target.hosts:
        return source.facets(option)
    if option.meaning is Meaning.HOSTFILE:
        if segment.first(Meaning.HOSTS) is not None:
            return ()  # the list overrides the file
        if source.hosts is None or option.values[0] not in job.host_files:
            raise _refusal(option, target, "the file cannot be read")
    ranks = segment.first(Meaning.RANKS)
    if source.hosts is None or ranks is None or not ranks.values[0].isdigit():
        return source.facets(option)
    # Find the host of each rank under the source, and write hosts that give each rank the same one.
    count = int(ranks.values[0])
    hosts = read_hosts(source.hosts, segment, job.host_files)
    all_facets = (facet for other in segment.options for facet in source.facets(other))
    per_node = count_of(next((v[0] for meaning, v in all_facets if meaning is Meaning.RANKS_PER_NODE), ""))
    if per_node or not source.hosts.has_slots:
        even = tuple(replace(host, slots=per_node or -(-count // len(hosts))) for host in hosts)
        facets = host_facets(target, hosts, seated(even, count))
    else:
        facets = host_facets(target, hosts, seated(hosts, count))
    if facets is None:
        raise _refusal(option, target, "it has no syntax for hosts with these numbers of ranks")
    # The segment's own option for ranks per node is translated too.
    return tuple(facet for facet in facets if not per_node or facet[0] is not Meaning.RANKS_PER_NODE)


def _variable_name(source: Dialect, target: Dialect, option: LaunchOption, facet: Facet) -> str:
    """Return the variable that replaces an option under a launcher that belongs to no MPI library."""
    meaning, values = facet
    if meaning is Meaning.ENVIRONMENT and meaning not in target.write and len(values) == 2:
        return values[0]
    return twin(source, option) if meaning is Meaning.MPI_PARAMETER and target.neutral else ""


def _is_of_previous_launcher(
    source: Dialect, target: Dialect, segment: Segment, option: LaunchOption, meaning: Meaning
) -> bool:
    """Return whether an option means nothing to the target launcher and to its MPI library."""
    if _are_of_one_family(source, target) and known(target, option) is not None:
        return False
    if meaning is Meaning.BOOTSTRAP:
        is_on_hosts = segment.first(Meaning.HOSTS) or segment.first(Meaning.HOSTFILE)
        return target.neutral or not is_on_hosts
    return meaning in _OF_PREVIOUS_LAUNCHER


def _counterpart(
    source: Dialect, target: Dialect, segment: Segment, option: LaunchOption, facet: Facet
) -> Words | None:
    """Return the target's arguments for one meaning of an option.

    Empty if the target does the same without an option; None without a counterpart.
    """
    meaning, values = facet
    if meaning is Meaning.ENVIRONMENT and meaning not in target.write:
        return ()  # passed on by default
    if meaning is Meaning.NODES and meaning not in target.write:
        return _ranks_per_node(target, segment, values[0])
    if meaning is Meaning.BINDING:
        return _by_keyword(target, meaning, source.binding_words, target.binding_words, values[0])
    if (meaning, values) in ((Meaning.MAPPING, ("core",)), (Meaning.RANKING, ("slot",))):
        mapping = segment.first(Meaning.MAPPING)
        if mapping is None or mapping.values in (("core",), ("slot",)):
            # Ranks fill cores in order: an option of Open MPI, the default of other launchers.
            return target.write[meaning](values) if _are_of_one_family(source, target) else ()
    if meaning is Meaning.MAPPING:
        return _by_keyword(target, meaning, source.mapping_words, target.mapping_words, values[0])
    if meaning in _OF_ONE_FAMILY:
        return option.tokens if _are_of_one_family(source, target) and known(target, option) else None
    return target.write[meaning](values) if meaning in target.write else None


def _are_of_one_family(source: Dialect, target: Dialect) -> bool:
    return source.hosts is target.hosts is not None


def _by_keyword(
    target: Dialect,
    meaning: Meaning,
    source_keywords: Mapping[str, str],
    target_keywords: Mapping[str, str],
    value: str,
) -> Words | None:
    """Return a binding or mapping with the target's keyword for the level that the source calls ``value``."""
    if value and value == target.every_seat:
        return target.write[meaning]((value,))
    level = next((level for level, keyword in source_keywords.items() if keyword == value), None)
    if level == "compact":
        return ()  # ranks fill a node in order by default
    if level is None or level not in target_keywords or meaning not in target.write:
        return None
    return target.write[meaning]((target_keywords[level],))


def _ranks_per_node(target: Dialect, segment: Segment, nodes: str) -> Words | None:
    """Write ``-N 2`` of 8 ranks as 4 ranks per node, unless that is already set."""
    if segment.first(Meaning.RANKS_PER_NODE) is not None:
        return ()
    ranks = segment.first(Meaning.RANKS)
    count, total = count_of(nodes), count_of(ranks.values[0]) if ranks is not None else 0
    if not count or not total or total % count:
        return None
    return target.write[Meaning.RANKS_PER_NODE]((str(total // count),))


def joined(dialect: Dialect, under: LaunchOption, over: LaunchOption) -> LaunchOption:
    """Return one option for both, the second overriding the first. Raises MismatchError if impossible."""
    if under.values == over.values:
        return over
    merged = dialect.merge(over.meaning, under.values[-1], over.values[-1]) if over.values else None
    arguments = None if merged is None else dialect.write[over.meaning]((*over.values[:-1], merged))
    if arguments is None:
        raise MismatchError(f"'{' '.join(under.tokens)}' contradicts '{' '.join(over.tokens)}'")
    return parse_option(dialect, arguments)


def _refusal(option: LaunchOption, target: Dialect, reason: str) -> MismatchError:
    return MismatchError(
        f"'{' '.join(option.tokens)}' cannot be translated for {target.launcher_names[0]}: {reason}",
        hint="remove the option, or keep the launcher",
    )
