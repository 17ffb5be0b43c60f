"""Options of a call that are kept, so that `--resume` needs none of them again."""

from collections.abc import Container, Sequence
from typing import Any

import click
from click.core import ParameterSource

from mpiric.model.errors import MpiricError


def given_options(context: click.Context, without: Container[str]) -> list[str]:
    """The options of this call, written once more; ``without`` are names of parameters."""
    arguments: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in without or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value, option = context.params[name], max(parameter.opts, key=len)
        if isinstance(parameter, click.Option) and parameter.is_flag:
            arguments.append(option if value else max(parameter.secondary_opts, key=len))
            continue
        several = value if isinstance(value, tuple) else (value,)
        if not parameter.multiple:
            several = (",".join(map(str, several)),)  # a list in one word
        for item in several:
            arguments += [option, str(item)]
    return arguments


def recall_options(
    context: click.Context, stored: Sequence[str], line: Sequence[str], without: Container[str]
) -> dict[str, Any]:
    """Give a resumed call the options of the call that it continues; options on its command line win.

    Raises MpiricError if the stored arguments cannot be parsed as options.
    """
    try:
        earlier = context.command.make_context(context.info_name, [*stored, "--", *line])
    except click.ClickException as error:  # written by another version of mpiric, or edited
        raise MpiricError(
            f"the options that are kept for --resume cannot be read: {error.format_message()}",
            hint="start anew without --resume",
        ) from error
    for name, value in earlier.params.items():
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        was_given = earlier.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if was_given and not is_given and name not in without:
            context.params[name] = value
            context.set_parameter_source(name, ParameterSource.COMMANDLINE)
    return context.params
