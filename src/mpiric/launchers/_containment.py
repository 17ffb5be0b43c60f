"""Variables and files on their way into containers that stand between launcher and program."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from mpiric.launchers._draft import Draft
from mpiric.launchers.containers import Engine, engines, split_container
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


def bind_files(job: Job, paths: Words) -> Job:
    """Make files of the host visible in every container under their own paths."""
    for path in paths:
        job = map_containers(job, lambda engine, words, path=path: engine.bind(words, path))  # type: ignore[misc]
    return job
