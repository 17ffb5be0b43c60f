"""Draft: a Launch under construction; changes to its variables and to the options of its Job."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from itertools import pairwise

from mpiric.launchers._arguments import is_assignment, leading_assignments, prefix_length
from mpiric.launchers._dialect import Dialect, Option, Scope
from mpiric.model.dataclass import dataclass
from mpiric.model.job import Job, Launch, LaunchOption, Meaning, Segment, Setting


@dataclass(frozen=True)
class Draft:
    """A Launch under construction. ``environment`` holds the changes relative to ``job.environment``."""

    job: Job
    dialect: Dialect
    environment: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()

    def noting(self, setting: Setting) -> "Draft":
        """Return the draft with one more setting to report."""
        return replace(self, settings=(*self.settings, setting))

    def launch(self) -> Launch:
        """Return the finished Launch."""
        return Launch(
            argv=(*self.job.prefix, *self.job.launcher_words, *self.job.after_launcher),
            working_directory=self.job.working_directory,
            environment=self.environment,
            unset=self.unset,
            stdin=self.job.stdin,
            settings=self.settings,
        )


def start(job: Job, dialect: Dialect) -> Draft:
    """Return a draft of the user's command; assignments in front of it become environment variables."""
    count = leading_assignments(job.prefix)
    assigned = dict(word.split("=", 1) for word in job.prefix[:count])
    return Draft(replace(job, prefix=job.prefix[count:]), dialect, assigned)


def set_for_process(draft: Draft, name: str, value: str) -> Draft:
    """Set a variable for the launcher, after an ``env`` in front of it that would undo the setting."""
    prefix = draft.job.prefix
    end = _env_end(prefix)
    if end and (_mentions(prefix[:end], name) or _clears(prefix[:end])):
        remaining = _without(prefix[:end], name)
        job = replace(draft.job, prefix=(*remaining, f"{name}={value}", *prefix[end:]))
        return replace(draft, job=job)
    return replace(draft, environment={**draft.environment, name: value})


def unset_for_process(draft: Draft, name: str) -> Draft:
    """Remove a variable from the environment of the launcher and of all its children."""
    end = _env_end(draft.job.prefix)
    prefix = (*_without(draft.job.prefix[:end], name), *draft.job.prefix[end:])
    environment = {key: value for key, value in draft.environment.items() if key != name}
    is_inherited = name in draft.job.environment and name not in draft.unset
    unset = (*draft.unset, name) if is_inherited else draft.unset
    return replace(draft, job=replace(draft.job, prefix=prefix), environment=environment, unset=unset)


def process_value(draft: Draft, name: str) -> str | None:
    """Return the value of a variable in the environment of the launcher."""
    prefix = draft.job.prefix[: _env_end(draft.job.prefix)]
    for word in reversed(prefix):
        if is_assignment(word) and word.startswith(f"{name}="):
            return word.partition("=")[2]
    if _clears(prefix) or name in draft.unset or _mentions(prefix, name):
        return None
    return draft.environment.get(name, draft.job.environment.get(name))


def set_behind_launcher(job: Job, name: str, value: str) -> Job:
    """Return the job with a variable after each ``env`` in front of a program that would undo its setting."""

    def changed(segment: Segment) -> Segment:
        end = _env_end(segment.program[: prefix_length(segment.program)])
        before, after = segment.program[:end], segment.program[end:]
        if not (_mentions(before, name) or _clears(before)):
            return segment
        return replace(segment, program=(*_without(before, name), f"{name}={value}", *after))

    return replace(job, segments=tuple(map(changed, job.segments)))


def unset_behind_launcher(job: Job, name: str) -> Job:
    """Return the job in which no ``env`` in front of a program sets a variable."""

    def changed(segment: Segment) -> Segment:
        end = _env_end(segment.program[: prefix_length(segment.program)])
        return replace(segment, program=(*_without(segment.program[:end], name), *segment.program[end:]))

    return replace(job, segments=tuple(map(changed, job.segments)))


def value_behind_launcher(job: Job, name: str) -> str | None:
    """Return the value that an ``env`` in front of the first program gives to a variable."""
    program = job.segments[0].program
    wrapper = reversed(program[: _env_end(program[: prefix_length(program)])])
    return next((word.partition("=")[2] for word in wrapper if word.startswith(f"{name}=")), None)


def _env_end(prefix: tuple[str, ...]) -> int:
    """Return the index after the last ``env`` and its arguments, 0 without one."""
    starts = [at for at, word in enumerate(prefix) if word.rsplit("/", 1)[-1] == "env"]
    if not starts:
        return 0
    end = starts[-1] + 1
    while end < len(prefix) and (prefix[end].startswith("-") or is_assignment(prefix[end])):
        end += 2 if prefix[end] in {"-u", "--unset", "-C", "--chdir"} else 1
    return min(end, len(prefix))


def _mentions(arguments: tuple[str, ...], name: str) -> bool:
    unsets = any(a in {"-u", "--unset"} and b == name for a, b in pairwise(arguments))
    return unsets or f"--unset={name}" in arguments or any(word.startswith(f"{name}=") for word in arguments)


def _clears(arguments: tuple[str, ...]) -> bool:
    return any(word in {"-i", "-", "--ignore-environment"} for word in arguments)


def _without(arguments: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(word for word in arguments if not word.startswith(f"{name}="))


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


def scope_of(dialect: Dialect, option: LaunchOption) -> Scope:
    """Return the programs of a launch to which an option applies."""
    entry = known(dialect, option)
    return entry.scope if entry is not None else Scope.SEGMENT


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
