"""Options and arguments that several commands share, and options that a later call takes over."""

import os
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from mpiric.cli._completing import files, mpi_labels
from mpiric.model.errors import MpiricError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Request = TypeVar("Request", bound="DataclassInstance")

FILE: dict[str, Any] = {"type": click.Path(path_type=Path), "metavar": "FILE"}
DIRECTORY: dict[str, Any] = {"type": click.Path(path_type=Path), "metavar": "DIR"}
COUNT: dict[str, Any] = {"type": click.IntRange(min=1), "metavar": "N"}
BATCH_JOBS = "Batch jobs"  # title of the group of options that send a command to a scheduler

command_line = click.argument(
    "command_line", nargs=-1, type=click.UNPROCESSED, shell_complete=files, metavar="-- CMD", required=True
)
command_line_or_none = click.argument(
    "command_line", nargs=-1, type=click.UNPROCESSED, shell_complete=files, metavar="[-- CMD]"
)
mpi_option = click.option(
    "--mpi",
    "mpi_label",
    default="",
    metavar="NAME",
    shell_complete=mpi_labels,
    help="Run under this MPI library; `mpiric mpi list` shows the names.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
store_option = click.option("--store", **DIRECTORY, help="Directory of saved tunes and recipes.")
allow_rounding_of_others = click.option(
    "--allow-rounding",
    is_flag=True,
    help="Apply a recipe of another user even if it may change the last digits of results.",
)
confidence_option = click.option(
    "--confidence",
    type=float,
    default=0.99,
    show_default=True,
    metavar="P",
    help="Confidence level of the verdict.",
)
minimum_effect_option = click.option(
    "--minimum-effect",
    type=float,
    default=0.01,
    show_default=True,
    metavar="SHARE",
    help="Smallest relative difference that is reported.",
)
in_place_option = click.option(
    "--in-place", is_flag=True, help="Run in the current directory instead of a copy of it."
)


def request_of(kind: type[Request], options: Mapping[str, Any], /, **values: Any) -> Request:
    """Make a request from the options that have the names of its fields, and from further ``values``.

    The default of a field applies where its option was not given.
    """
    names = {field.name for field in fields(kind)}
    named = {name: value for name, value in options.items() if name in names and value is not None}
    make: Callable[..., Request] = kind
    return make(**{**named, **values})


def launch_request_of(
    kind: type[Request], command_line: tuple[str, ...], options: Mapping[str, Any], /, **values: Any
) -> Request:
    """Make a request for a launch line in the current directory and environment."""
    launch = {"argv": command_line, "working_directory": str(Path.cwd()), "environment": dict(os.environ)}
    return request_of(kind, options, **launch, **values)


def given_options(context: click.Context, without: Container[str]) -> list[str]:
    """Return the options of this call as arguments, without the parameters ``without``."""
    arguments: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in without or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value, option = context.params[name], max(parameter.opts, key=len)
        if isinstance(parameter, click.Option) and parameter.is_flag:
            arguments.append(option if value else max(parameter.secondary_opts, key=len))
            continue
        items = value if isinstance(value, tuple) else (value,)
        if not parameter.multiple:
            items = (",".join(map(str, items)),)  # a comma-separated list
        for item in items:
            arguments += [option, str(item)]
    return arguments


def recall_options(
    context: click.Context, stored: Sequence[str], line: Sequence[str], without: Container[str]
) -> dict[str, Any]:
    """Complete a resumed call by the stored options of the call that it continues.

    Options on the command line take precedence.

    Raises MpiricError if the stored arguments cannot be parsed as options.
    """
    try:
        earlier = context.command.make_context(context.info_name, [*stored, "--", *line])
    except click.ClickException as error:  # written by another version of mpiric, or edited
        raise MpiricError(
            f"the saved options of the interrupted call cannot be read: {error.format_message()}",
            hint="start again without --resume",
        ) from error
    for name, value in earlier.params.items():
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        was_given = earlier.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if was_given and not is_given and name not in without:
            context.params[name] = value
            context.set_parameter_source(name, ParameterSource.COMMANDLINE)
    return context.params
