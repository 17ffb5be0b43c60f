"""Commands whose options are shown in groups, the rarely needed groups by ``--help-all`` only."""

from collections.abc import Callable, Sequence
from typing import Any

import click
import cloup

_ALL = "mpiric.cli.help_all"  # key of the context's notes


class Command(cloup.Command):
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
