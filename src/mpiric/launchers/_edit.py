"""Changes to the options of a Job that is being rendered; every function returns a new Job."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from mpiric.launchers._dialect import Dialect, Option
from mpiric.model.job import Job, LaunchOption, Meaning, Segment

# Of these a launch has one each, whatever word it is written with.
_ONE_OF_A_KIND = frozenset(
    {
        Meaning.RANKS,
        Meaning.RANKS_PER_NODE,
        Meaning.NODES,
        Meaning.THREADS_PER_RANK,
        Meaning.BINDING,
        Meaning.MAPPING,
        Meaning.RANKING,
        Meaning.MEMORY_BINDING,
        Meaning.WORKING_DIRECTORY,
        Meaning.PROCESS_MANAGER,
        Meaning.OVERSUBSCRIBE,
    }
)


def known(dialect: Dialect, option: LaunchOption) -> Option | None:
    """The dialect's own entry for an option of a command line."""
    body = option.tokens[0].lstrip("-")
    found = dialect.find(body.partition("=")[0] if dialect.grammar.equals else body)
    short = dialect.grammar.attached_values and not option.tokens[0].startswith("--")
    return found or (dialect.find(body[:1]) if short else None)


def identity(dialect: Dialect, option: LaunchOption) -> tuple[object, ...]:
    """Two options with the same identity cannot both hold."""
    if option.meaning in _ONE_OF_A_KIND:
        return (option.meaning,)
    if option.meaning in {Meaning.MPI_PARAMETER, Meaning.ENVIRONMENT}:
        return (option.meaning, *option.values[:1])
    entry = known(dialect, option)
    return entry.names if entry is not None else option.tokens[:1]


def gives_way(dialect: Dialect, own: LaunchOption, new: LaunchOption) -> bool:
    """Whether an option of the user's gives way to a new one: a list of hosts replaces a file too."""
    listed = new.meaning is Meaning.HOSTS and own.meaning is Meaning.HOSTFILE
    return listed or identity(dialect, own) == identity(dialect, new)


def twin(dialect: Dialect, option: LaunchOption) -> str:
    """The environment variable that sets the same as the option, "" when there is none."""
    entry = known(dialect, option)
    return entry.variable.format(*option.values[:1]) if entry is not None and entry.variable else ""


def without(job: Job, goes: Callable[[LaunchOption], bool]) -> tuple[Job, tuple[LaunchOption, ...]]:
    """The job without some options, and those."""
    removed = tuple(o for segment in job.segments for o in segment.options if goes(o))
    segments = (replace(s, options=tuple(o for o in s.options if not goes(o))) for s in job.segments)
    return replace(job, segments=tuple(segments)), removed


def in_front(job: Job, added: Iterable[LaunchOption], *, every_segment: bool = False) -> Job:
    """The job with options before the user's own, where no word can be mistaken for their value."""
    new = tuple(added)
    segments = tuple(
        Segment((*new, *segment.options), segment.program) if at == 0 or every_segment else segment
        for at, segment in enumerate(job.segments)
    )
    return replace(job, segments=segments)


def all_options(job: Job) -> tuple[LaunchOption, ...]:
    """The options of every segment, in order."""
    return tuple(option for segment in job.segments for option in segment.options)
