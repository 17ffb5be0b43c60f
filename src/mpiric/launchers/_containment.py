"""Variables and files that are passed into containers between launcher and program."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from mpiric.launchers._draft import Draft
from mpiric.launchers.containers import Engine, engines, split_container
from mpiric.model.errors import MismatchError
from mpiric.model.job import Job, Segment

Words = tuple[str, ...]


def container_variables(job: Job) -> Mapping[str, str]:
    """Return the variables that the user's engine options set in the container of the first segment."""
    container = split_container(job.program)
    return {} if container is None else engines()[container.engine].own_variables(container.argv)


def map_containers(job: Job, change: Callable[[Engine, Words], Words]) -> Job:
    """Return the job with changed engine arguments in each segment that has a container."""

    def changed(segment: Segment) -> Segment:
        container = split_container(segment.program)
        if container is None:
            return segment
        arguments = change(engines()[container.engine], container.argv)
        return replace(segment, program=(*arguments, *segment.program[len(container.argv) :]))

    segments = tuple(changed(segment) for segment in job.segments)
    return replace(job, segments=segments, container=split_container(segments[0].program))


def into_containers(draft: Draft, variables: Mapping[str, str]) -> tuple[Draft, dict[str, str]]:
    """Pass variables to the containers; return the variables for the engines or bare programs."""
    outside: dict[str, str] = {}
    containers = [split_container(segment.program) for segment in draft.job.segments]
    if any(container is None for container in containers):
        outside.update(variables)

    def injected(engine: Engine, arguments: Words) -> Words:
        new, needed = engine.inject(arguments, variables)
        outside.update(needed)
        return new

    return replace(draft, job=map_containers(draft.job, injected)), outside


def bind_paths(job: Job, modes: Mapping[str, str]) -> tuple[Job, dict[str, str]]:
    """Make paths of the host visible to the ranks (``ro`` or ``rw``); return the paths that the ranks see.

    Raises MismatchError if the programs of a job would see one of them under different paths.
    """
    bare = any(split_container(segment.program) is None for segment in job.segments)
    inner_paths: dict[str, set[str]] = {path: {path} if bare else set() for path in modes}

    def bound(engine: Engine, arguments: Words) -> Words:
        for path, mode in modes.items():
            arguments, inside = engine.bind(arguments, path, mode)
            inner_paths[path].add(inside)
        return arguments

    job = map_containers(job, bound)
    for path, names in inner_paths.items():
        if len(names) > 1:
            raise MismatchError(f"the programs of the job would see {path} under different paths")
    return job, {path: names.pop() for path, names in inner_paths.items()}
