"""Commands with option groups, options that several commands share, and tab completion of their values.

A later call of a command can take over options of an earlier one.
"""

import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import cloup
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from mpiric.host.files import LARGEST_TEXT_BYTES, read_bounded
from mpiric.host.packaged import packaged_table
from mpiric.model.errors import MpiricError
from mpiric.statistics.claims import StoppingRule

_ALL = "mpiric.cli.help_all"  # key of the context's notes


def examples(command_path: str) -> str:
    """Return the examples of a command such as ``mpiric mpi install`` for its help page, "" without any."""
    lines = packaged_table("cli/_examples").get(command_path.removeprefix("mpiric "), "")
    return f"\b\nExamples:\n{lines}" if lines else ""


class WithExamples(click.Command):
    """A command with examples at the end of its help page."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        self.epilog = examples(ctx.command_path)
        super().format_epilog(ctx, formatter)


class Command(WithExamples, cloup.Command):
    """A command with option groups.

    ``help_all`` holds the titles of the groups that ``--help`` names without showing their options.
    """

    def __init__(self, *args: Any, help_all: Sequence[str] = (), **settings: Any) -> None:
        self.help_all = tuple(help_all)
        if help_all:
            settings["params"] = [*(settings.get("params") or ()), _help_all_option()]
        super().__init__(*args, **settings)

    def format_params(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups; without ``--help-all`` only the titles of the rarely needed ones."""
        groups = self.option_groups
        if ctx.meta.get(_ALL) or not self.help_all:
            super().format_params(ctx, formatter)
            return
        self.option_groups = [group for group in groups if group.title not in self.help_all]
        super().format_params(ctx, formatter)
        self.option_groups = groups
        with formatter.section("More options"):
            formatter.write_text(f"{', '.join(self.help_all)}: see `{ctx.command_path} --help-all`.")


class Group(WithExamples, click.Group):
    """A group of commands, all with examples."""

    command_class = WithExamples


def cli_command(name: str | None = None, **settings: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function a `Command`, as ``click.command`` does."""
    return cloup.command(name, cls=Command, **settings)


def _help_all_option() -> click.Option:
    def show(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001
        if value and not ctx.resilient_parsing:
            ctx.meta[_ALL] = True
            print(ctx.get_help())
            ctx.exit()

    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show this message with all options and exit.",
    )


Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def complete_knobs(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the last name of a list of knobs and families, as in ``--only a,b,…``."""
    from mpiric import knobs  # slow; needed for completion only

    before, comma, last = incomplete.rpartition(",")
    sentences = {knob.name: knob.sentence for knob in knobs.all_knobs().values()}
    sentences.update({knob.family: f"the family {knob.family}" for knob in knobs.all_knobs().values()})
    return [
        CompletionItem(f"{before}{comma}{name}", help=sentences[name])
        for name in sorted(sentences)
        if name.startswith(last)
    ]


def complete_settings(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the knob of ``--set KNOB=VALUE``."""
    from mpiric import knobs

    return [
        CompletionItem(f"{knob.name}=", help=knob.sentence)
        for knob in knobs.all_knobs().values()
        if knob.name.startswith(incomplete)
    ]


def complete_mpi_labels(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of an installed MPI library."""
    from mpiric.host.facts.local import LocalHost
    from mpiric.mpis import find_mpis

    labels = sorted({library.label for library in find_mpis(LocalHost())})
    return [CompletionItem(label) for label in labels if label.startswith(incomplete)]


def one_of(values: Callable[[], Iterable[str]]) -> Completer:
    """Complete one of some values, which are looked up when completion is requested."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(value) for value in values() if value.startswith(incomplete)]

    return complete


def list_of(values: Callable[[], Iterable[str]]) -> Completer:
    """Complete the last value of a comma-separated list."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        return [CompletionItem(f"{before}{comma}{value}") for value in values() if value.startswith(last)]

    return complete


def complete_files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the names of files."""
    return [CompletionItem(incomplete, type="file")]


if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Request = TypeVar("Request", bound="DataclassInstance")
Decorated = TypeVar("Decorated", bound=Callable[..., Any])

COUNT = click.IntRange(min=1)
_OF_SUBMISSION = ("job_options", "array", "slice_time")
BATCH_JOBS = "Batch jobs"  # title of the group of options that send a command to a scheduler


def option(*texts: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """Make an option from its names, the name of its value and its help text. Defaults are shown.

    A value called FILE or DIR is a path. A text that is not given is "".
    """
    *names, metavar, text = texts
    if metavar in ("FILE", "DIR"):
        settings.setdefault("type", click.Path(path_type=Path))
    if not {"type", "callback", "multiple", "required"}.intersection(settings):
        settings.setdefault("default", "")
    settings.setdefault("show_default", bool(settings.get("default")))
    return click.option(*names, metavar=metavar, help=text, **settings)


def choice(values: Iterable[str], *texts: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """Make an option that takes one of some values, from its names and its help text."""
    *names, text = texts
    settings.setdefault("show_default", bool(settings.get("default")))
    return click.option(*names, type=click.Choice(list(values)), help=text, **settings)


def flag(*texts: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """Make an option without a value from its names and its help text."""
    *names, text = texts
    return click.option(*names, is_flag=True, help=text, **settings)


def share(maximum: float = 1.0, *, is_positive: bool = False) -> Callable[[str | float], float]:
    """Return the type of an option for a share: it converts ``1%`` and ``0.01``, up to ``maximum``."""

    def convert(value: str | float) -> float:
        text = str(value)
        try:
            fraction = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            fraction = -1.0
        if not 0 <= fraction <= maximum or (is_positive and not fraction):
            raise click.BadParameter(f"{text!r} is not a share, such as 1% or 0.01")
        return fraction

    return convert


command_line = click.argument(
    "command_line",
    nargs=-1,
    type=click.UNPROCESSED,
    shell_complete=complete_files,
    metavar="-- CMD",
    required=True,
)
command_line_or_none = click.argument(
    "command_line", nargs=-1, type=click.UNPROCESSED, shell_complete=complete_files, metavar="[-- CMD]"
)
mpi_option = option(
    "--mpi",
    "mpi_label",
    "NAME",
    "Run under this MPI library; `mpiric mpi list` shows the names.",
    shell_complete=complete_mpi_labels,
)
json_option = flag("--json", "as_json", "Print the result as one JSON object.")
store_option = option("--store", "DIR", "Directory of saved tunes and recipes.")
allow_rounding_of_others = flag(
    "--allow-rounding", "Also accept a recipe of another user that may change the last digits of results."
)
confidence_option = option(
    "--confidence", "P", "Confidence level of the verdict.", type=float, default=StoppingRule.confidence
)
minimum_effect_option = option(
    "--minimum-effect",
    "SHARE",
    "Smallest relative difference that is reported. [default: 1%]",
    type=share(),
    default=StoppingRule.minimum_effect,
    show_default=False,
)
in_place_option = flag("--in-place", "Run in the current directory instead of a copy of it.")


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


param_file_option = option(
    "--param-file",
    "param_files",
    "FILE.in",
    "Replace {NAME} of --param in the text of FILE.in, and write it to FILE for each run.",
    multiple=True,
    shell_complete=complete_files,
)


def file_templates(paths: Sequence[str]) -> dict[str, str]:
    """Return the texts of template files by the path to write, which lacks ``.in``. Raises MpiricError."""
    texts = {}
    for path in paths:
        inside = not path.startswith("/") and ".." not in Path(path).parts
        if not path.endswith(".in") or not inside or Path(path).name == ".in":
            raise MpiricError(
                f"--param-file takes a file FILE.in below the working directory, not {path!r}",
                hint="name the template after the file to write: HPL.dat.in for HPL.dat",
            )
        hint = "write {NAME} in the place of each value"
        data = read_bounded(Path(path), "template of --param-file", LARGEST_TEXT_BYTES, hint)
        texts[str(Path(path.removesuffix(".in")))] = data.decode(errors="surrogateescape")
    return texts


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
    stored: Sequence[str], line: Sequence[str], options: Mapping[str, Any], without: Iterable[str]
) -> dict[str, Any]:
    """Return the options of this call, completed by the stored ones of the call that it resumes.

    Options on the command line take precedence. ``without``: parameters that are not taken over; options
    of a job are taken over with --submit only.
    Raises MpiricError if the stored arguments cannot be parsed as options.
    """
    context = click.get_current_context()
    excluded = {*without, *(() if options["submit"] else _OF_SUBMISSION)}
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
        if was_given and not is_given and name not in excluded:
            context.params[name] = value
            context.set_parameter_source(name, ParameterSource.COMMANDLINE)
    return {name: context.params[name] for name in options}
