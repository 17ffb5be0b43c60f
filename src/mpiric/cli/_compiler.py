"""What `mpiric cc`, `cxx` and `fc` are to click: every word goes to the compiler, none is click's."""

import click

from mpiric.cli._compiling import run

PASS_THROUGH = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}


def compiler_verb(verb: str, explanation: str) -> click.Command:
    """A click command that hands every word on."""

    @click.command(name=verb, context_settings=PASS_THROUGH, help=explanation, add_help_option=False)
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    def command(words: tuple[str, ...]) -> int:
        return run(verb, words)

    return command
