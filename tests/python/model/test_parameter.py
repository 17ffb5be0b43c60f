"""Parameters of the user's command: the texts of ``--param``."""

import pytest

from mpiric.model.configuration import check_parameter_value, parse_parameters, substitute
from mpiric.model.errors import MpiricError

COMMAND = ("mpirun", "-n", "{N}", "./app", "--block={NB}", "{print $1}")


def test_values_are_kept_in_their_order():
    assert parse_parameters(["NB=64,32,-1", "N=2,4"], COMMAND) == {
        "{NB}": ("64", "32", "-1"),
        "{N}": ("2", "4"),
    }


def test_a_parameter_is_replaced_inside_of_an_argument_and_other_braces_stay():
    replaced = substitute(COMMAND, {"{NB}": "64", "{N}": "2"})
    assert replaced == ("mpirun", "-n", "2", "./app", "--block=64", "{print $1}")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["NB"], "NAME=VALUE"),
        (["9B=1,2"], "NAME=VALUE"),
        (["NB=64"], "one value"),
        (["NB="], "''"),
        (["NB=64,64"], "twice"),
        (["NB=1,2", "NB=3,4"], "names NB twice"),
        (["Q=1,2"], "does not contain {Q}"),
        (["NB=1,/etc/passwd"], "'/etc/passwd'"),
        (["NB=1,-x"], "'-x'"),
        (["NB=1,{N}"], "'{N}'"),
    ],
)
def test_bad_input_gives_one_sentence_and_a_hint(texts, message):
    with pytest.raises(MpiricError, match=message.replace("{", "\\{")) as error:
        parse_parameters(texts, COMMAND)
    assert error.value.hint
    assert "\n" not in error.value.message


@pytest.mark.parametrize(
    "value", ["../x", "a b", "$HOME", "`id`", "--flag", "-e", "", "x" * 65, "1;2", "a\n"]
)
def test_hostile_values_are_refused(value):
    with pytest.raises(ValueError, match="not a value"):
        check_parameter_value(value)


def test_a_parameter_may_stand_in_a_file_alone():
    assert parse_parameters(["NB=1,2"], ("./xhpl", "block {NB}\n")) == {"{NB}": ("1", "2")}
