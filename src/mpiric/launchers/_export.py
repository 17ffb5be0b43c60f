"""``srun --export``: one list of the variables that are passed on and those that are set."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from re import findall

from mpiric.launchers._dialect import Facet
from mpiric.model.job import Job, LaunchOption, Meaning, Segment

_NONE = ("NONE", "NIL")


def facets(option: LaunchOption) -> tuple[Facet, ...]:
    """``ALL,A=1`` passes everything on and sets A."""
    if option.meaning is not Meaning.ENVIRONMENT_LIMIT:
        return ((option.meaning, option.values),)
    items = _items(option.values[0])
    if "ALL" not in items:
        names = ",".join(item.partition("=")[0] for item in items)
        return ((Meaning.ENVIRONMENT_LIMIT, ("none" if names in _NONE else names,)),)
    sets = (item.partition("=") for item in items if "=" in item)
    return tuple((Meaning.ENVIRONMENT, (name, value)) for name, _, value in sets)


def listed(job: Job) -> Mapping[str, str]:
    """Variables that the list sets for the first program."""
    items = _items(_value(job, job.segments[0]))
    return {name: value for name, mark, value in (item.partition("=") for item in items) if mark}


def unlist(job: Job, name: str) -> Job:
    """The job without the setting of one variable; its bare name only passes it on and stays."""
    if all(segment.first(Meaning.ENVIRONMENT_LIMIT) is None for segment in job.segments):
        return job
    return _changed(job, lambda items: tuple(item for item in items if not item.startswith(f"{name}=")))


def enlist(job: Job, variables: Mapping[str, str | None]) -> Job:
    """The job with more variables than the list, or ``SLURM_EXPORT_ENV`` in its place, names already.

    A variable without a value is passed on from srun's own environment. Slurm takes quotes for part of the
    value, so one with a comma can only be passed on.
    """
    more = (name if value is None else f"{name}={value}" for name, value in sorted(variables.items()))
    added = tuple(more)
    return _changed(job, lambda items: (*(i for i in items if i not in (*_NONE, *added)), *added))


def _changed(job: Job, change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Job:
    def changed(segment: Segment) -> Segment:
        own = segment.first(Meaning.ENVIRONMENT_LIMIT)
        text = ",".join(change(_items(_value(job, segment))))
        option = LaunchOption((f"--export={text or 'NONE'}",), Meaning.ENVIRONMENT_LIMIT, (text or "NONE",))
        others = tuple(other for other in segment.options if other is not own)
        return replace(segment, options=(option, *others))

    return replace(job, segments=tuple(changed(segment) for segment in job.segments))


def _value(job: Job, segment: Segment) -> str:
    option = segment.first(Meaning.ENVIRONMENT_LIMIT)
    return option.values[0] if option is not None else job.environment.get("SLURM_EXPORT_ENV", "ALL")


def _items(text: str) -> tuple[str, ...]:
    """Parts between commas, where quotes may hold commas."""
    return tuple(findall(r"(?:[^,'\"]|'[^']*'|\"[^\"]*\")+", text))
