"""Changes to the options of a Job that is rendered; each function returns a new Job."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from mpiric.launchers._dialect import Dialect, Option
from mpiric.model.job import Job, LaunchOption, Meaning, Segment

# A launch has at most one of each, even if they are written differently.
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
    """Return the dialect's declaration of an option on a command line."""
    body = option.tokens[0].lstrip("-")
    entry = dialect.find(body.partition("=")[0] if dialect.grammar.equals else body)
    short = dialect.grammar.attached_values and not option.tokens[0].startswith("--")
    return entry or (dialect.find(body[:1]) if short else None)


def identity(dialect: Dialect, option: LaunchOption) -> tuple[object, ...]:
    """Return a key of an option; two options with the same key exclude each other."""
    if option.meaning in _ONE_OF_A_KIND:
        return (option.meaning,)
    if option.meaning in {Meaning.MPI_PARAMETER, Meaning.ENVIRONMENT}:
        return (option.meaning, *option.values[:1])
    entry = known(dialect, option)
    return entry.names if entry is not None else option.tokens[:1]


def gives_way(dialect: Dialect, current: LaunchOption, new: LaunchOption) -> bool:
    """Return whether a new option replaces an option of the user; a host list also replaces a host file."""
    listed = new.meaning is Meaning.HOSTS and current.meaning is Meaning.HOSTFILE
    return listed or identity(dialect, current) == identity(dialect, new)


def twin(dialect: Dialect, option: LaunchOption) -> str:
    """Return the environment variable with the same effect as an option, "" if there is none."""
    entry = known(dialect, option)
    return entry.variable.format(*option.values[:1]) if entry is not None and entry.variable else ""


def without(job: Job, goes: Callable[[LaunchOption], bool]) -> tuple[Job, tuple[LaunchOption, ...]]:
    """Return the job without some options, and the removed options."""
    removed = tuple(o for segment in job.segments for o in segment.options if goes(o))
    segments = (replace(s, options=tuple(o for o in s.options if not goes(o))) for s in job.segments)
    return replace(job, segments=tuple(segments)), removed


def in_front(job: Job, added: Iterable[LaunchOption], *, every_segment: bool = False) -> Job:
    """Return the job with options before the user's, where none can be taken for the value of another."""
    new = tuple(added)
    segments = tuple(
        Segment((*new, *segment.options), segment.program) if at == 0 or every_segment else segment
        for at, segment in enumerate(job.segments)
    )
    return replace(job, segments=segments)


def all_options(job: Job) -> tuple[LaunchOption, ...]:
    """Return the options of all segments, in order."""
    return tuple(option for segment in job.segments for option in segment.options)
