"""``srun --export``: the list of variables that are passed on or set."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from re import findall

from mpiric.launchers._dialect import Facet
from mpiric.model.job import Job, LaunchOption, Meaning, Segment

_NONE = ("NONE", "NIL")


def facets(option: LaunchOption) -> tuple[Facet, ...]:
    """Return the meanings of the option: ``ALL,A=1`` passes all variables on and sets A."""
    if option.meaning is not Meaning.ENVIRONMENT_LIMIT:
        return ((option.meaning, option.values),)
    items = _items(option.values[0])
    if "ALL" not in items:
        names = ",".join(item.partition("=")[0] for item in items)
        return ((Meaning.ENVIRONMENT_LIMIT, ("none" if names in _NONE else names,)),)
    sets = (item.partition("=") for item in items if "=" in item)
    return tuple((Meaning.ENVIRONMENT, (name, value)) for name, _, value in sets)


def listed(job: Job) -> Mapping[str, str]:
    """Return the variables that the list sets for the first program."""
    items = _items(_value(job, job.segments[0]))
    return {name: value for name, equals, value in (item.partition("=") for item in items) if equals}


def unlist(job: Job, name: str) -> Job:
    """Return the job without the setting of one variable; a bare name only passes it on and stays."""
    if all(segment.first(Meaning.ENVIRONMENT_LIMIT) is None for segment in job.segments):
        return job
    return _changed(job, lambda items: tuple(item for item in items if not item.startswith(f"{name}=")))


def enlist(job: Job, variables: Mapping[str, str | None]) -> Job:
    """Return the job with more variables than the list, or else ``SLURM_EXPORT_ENV``, already names.

    A variable without a value is passed on from srun's environment. Slurm treats quotes as part of the value,
    so a value with a comma can only be passed on.
    """
    more = (name if value is None else f"{name}={value}" for name, value in sorted(variables.items()))
    added = tuple(more)
    return _changed(job, lambda items: (*(i for i in items if i not in (*_NONE, *added)), *added))


def _changed(job: Job, change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Job:
    def changed(segment: Segment) -> Segment:
        current = segment.first(Meaning.ENVIRONMENT_LIMIT)
        text = ",".join(change(_items(_value(job, segment))))
        option = LaunchOption((f"--export={text or 'NONE'}",), Meaning.ENVIRONMENT_LIMIT, (text or "NONE",))
        remaining = tuple(other for other in segment.options if other is not current)
        return replace(segment, options=(option, *remaining))

    return replace(job, segments=tuple(changed(segment) for segment in job.segments))


def _value(job: Job, segment: Segment) -> str:
    option = segment.first(Meaning.ENVIRONMENT_LIMIT)
    return option.values[0] if option is not None else job.environment.get("SLURM_EXPORT_ENV", "ALL")


def _items(text: str) -> tuple[str, ...]:
    """Split at commas outside of quotes."""
    return tuple(findall(r"(?:[^,'\"]|'[^']*'|\"[^\"]*\")+", text))
