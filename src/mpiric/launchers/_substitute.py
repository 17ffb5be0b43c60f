"""Substitution of the user's parameters in a Job."""

from collections.abc import Mapping
from dataclasses import replace

from mpiric.launchers._arguments import binding_wrapper, leading_assignments, parse_option, without_wrappers
from mpiric.launchers._dialect import dialects
from mpiric.launchers.containers import split_container
from mpiric.model.configuration import PARAMETER, substitute
from mpiric.model.errors import MismatchError
from mpiric.model.job import Job, Segment


def with_parameters(job: Job, values: Mapping[str, str]) -> Job:
    """Return the job with ``{NAME}`` replaced in its arguments; it keeps the command as the user wrote it.

    Raises MismatchError if the command does not contain a parameter, or a file lists its programs.
    """
    if not values:
        return job
    template = job.command
    for name in values:
        if not any(name in text for text in (*template, *job.file_templates.values())):
            raise MismatchError(
                f"the command does not contain {name}",
                hint=f"write {name} in the place of the argument, or give the --param-file of `mpiric tune`",
            )
    if (*job.prefix, *job.launcher_words, *job.after_launcher) != job.argv:
        raise MismatchError(
            "parameters cannot be replaced in a launch whose programs are listed in a file",
            hint="write the programs on the launch line, separated by ':'",
        )
    argv = substitute(template, {**job.parameters, **values})
    at = len(job.prefix) + len(job.launcher_words)
    segments = []
    for segment in job.segments:
        options = []
        for option in segment.options:
            tokens, at = argv[at : at + len(option.tokens)], at + len(option.tokens)
            unchanged = tokens == option.tokens
            options.append(option if unchanged else parse_option(dialects()[job.dialect], tokens))
        written = without_wrappers(template[at : at + len(segment.program)])
        if written and PARAMETER.fullmatch(written[0]):  # otherwise a recipe could start any program
            raise MismatchError(
                f"{written[0]} is in the place of the program, which cannot be a parameter",
                hint=f"write a part of its path before it, such as ./{written[0]}",
            )
        segments.append(Segment(tuple(options), argv[at : at + len(segment.program)]))
        at += len(segment.program) + 1  # the colon between segments
    prefix = argv[: len(job.prefix)]
    assigned = dict(word.split("=", 1) for word in prefix[: leading_assignments(prefix)])
    return replace(
        job,
        argv=argv,
        prefix=prefix,
        launcher_words=argv[len(prefix) : len(prefix) + len(job.launcher_words)],
        segments=tuple(segments),
        environment={**job.environment, **assigned},
        container=split_container(segments[0].program),
        binding_wrapper=binding_wrapper(segments[0].program),
        template=template,
        parameters={**job.parameters, **values},
    )
