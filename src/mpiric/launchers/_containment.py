"""Variables and files on their way into containers that stand between launcher and program."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from mpiric.launchers._draft import Draft
from mpiric.launchers.containers import Engine, engines, split_container
from mpiric.model.errors import MismatchError
from mpiric.model.job import Job, Segment

Words = tuple[str, ...]


def container_variables(job: Job) -> Mapping[str, str]:
    """What the user's own options of the container engine set inside the first segment's container."""
    container = split_container(job.program)
    return {} if container is None else engines()[container.engine].own_variables(container.words)


def map_containers(job: Job, change: Callable[[Engine, Words], Words]) -> Job:
    """The job with the engine's words changed in every segment that has a container."""

    def changed(segment: Segment) -> Segment:
        container = split_container(segment.program)
        if container is None:
            return segment
        words = change(engines()[container.engine], container.words)
        return replace(segment, program=(*words, *segment.program[len(container.words) :]))

    segments = tuple(changed(segment) for segment in job.segments)
    return replace(job, segments=segments, container=split_container(segments[0].program))


def into_containers(draft: Draft, variables: Mapping[str, str]) -> tuple[Draft, dict[str, str]]:
    """Give variables to the containers; what is returned must reach the engines, or the bare programs."""
    outside: dict[str, str] = {}
    found = [split_container(segment.program) for segment in draft.job.segments]
    if any(container is None for container in found):
        outside.update(variables)

    def injected(engine: Engine, words: Words) -> Words:
        new, needed = engine.inject(words, variables)
        outside.update(needed)
        return new

    return replace(draft, job=map_containers(draft.job, injected)), outside


def bind_paths(job: Job, wanted: Mapping[str, str]) -> tuple[Job, dict[str, str]]:
    """Make paths of the host, ``ro`` or ``rw``, visible to the ranks; each with the path they know it by.

    Raises MismatchError when the programs of a job would know one by different paths.
    """
    bare = any(split_container(segment.program) is None for segment in job.segments)
    known: dict[str, set[str]] = {path: {path} if bare else set() for path in wanted}

    def bound(engine: Engine, words: Words) -> Words:
        for path, mode in wanted.items():
            words, inside = engine.bind(words, path, mode)
            known[path].add(inside)
        return words

    job = map_containers(job, bound)
    for path, names in known.items():
        if len(names) > 1:
            raise MismatchError(f"the programs of the job would know {path} by different paths")
    return job, {path: names.pop() for path, names in known.items()}
