import click
from click.testing import CliRunner

from mpiric.cli._verbs import Verbs, mpiric


def test_help_explains_every_verb() -> None:
    """Help reads the files of the verbs without importing them; a row may not stay empty."""
    help_text = CliRunner().invoke(mpiric, ["--help"], terminal_width=200).output
    rows = help_text.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    explained = {row.split(maxsplit=1)[0] for row in rows if len(row.split(maxsplit=1)) == 2}
    assert explained == set(Verbs().list_commands(click.Context(mpiric)))


def test_alone_it_prints_its_help_and_ends_well() -> None:
    alone = CliRunner().invoke(mpiric, [])
    assert alone.exit_code == 0
    assert alone.output == CliRunner().invoke(mpiric, ["--help"]).output
