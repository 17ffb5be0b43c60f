import click
import pytest
from click.testing import CliRunner

from mpiric.cli._verbs import SECTIONS, Verbs, mpiric


def test_every_verb_is_in_one_section_and_has_a_sentence() -> None:
    verbs = Verbs().list_commands(click.Context(mpiric))
    listed = [verb for section in SECTIONS.values() for verb in section]
    assert sorted(listed) == verbs
    lines = CliRunner().invoke(mpiric, ["--help"], terminal_width=80).output.splitlines()
    for verb in verbs:
        assert [line for line in lines if line.startswith(f"  {verb} ") and line.endswith(".")], verb


@pytest.mark.parametrize("verb", Verbs().list_commands(click.Context(mpiric)))
def test_help_fits_the_width_and_each_option_is_explained_by_a_sentence(verb: str) -> None:
    command = Verbs().get_command(click.Context(mpiric), verb)
    assert command is not None
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            assert option.help, option.name
            assert option.help[0].isupper() or option.help[0] == "$", option.name


def test_help_of_tune_fits_one_screen_and_help_all_shows_every_option() -> None:
    short, complete = (CliRunner().invoke(mpiric, ["tune", word]).output for word in ("--help", "--help-all"))
    assert len(short.split("Examples:")[0].splitlines()) <= 55
    tune = Verbs().get_command(click.Context(mpiric), "tune")
    assert tune is not None
    for option in tune.params:
        assert isinstance(option, click.Argument) or option.hidden or option.opts[0] in complete
    assert "--mark " not in short
    assert "--budget " in short


def test_alone_it_prints_its_help_and_ends_well() -> None:
    alone = CliRunner().invoke(mpiric, [])
    assert alone.exit_code == 0
    assert alone.output == CliRunner().invoke(mpiric, ["--help"]).output
