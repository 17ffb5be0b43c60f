"""The user's launch line with another program."""

from mpiric.model.errors import MismatchError
from mpiric.model.job import Job, Meaning


def line_without_program(job: Job) -> tuple[str, ...]:
    """Return the launch line without the program. Raises MismatchError if the program cannot be replaced."""
    if job.container is not None:
        raise MismatchError(f"another program is not inside the container {job.container.image}")
    if not job.launcher_words:
        raise MismatchError("the launch line names no launcher")
    options = tuple(option for segment in job.segments for option in segment.options)
    if len(job.segments) > 1 or any(option.meaning is Meaning.PROGRAM_FILE for option in options):
        raise MismatchError("the launch line has several programs")
    return (*job.prefix, *job.launcher_words, *(token for option in options for token in option.tokens))
