import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mpiric.launchers import dialects, parse_command, render
from mpiric.model.job import Meaning

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parents[2] / "data/launch_lines"


@dataclass(frozen=True)
class Line:
    dialect: str
    argv: tuple[str, ...]
    program: tuple[str, ...]
    ranks: int | None = None
    meanings: dict[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.dialect}: {shlex.join(self.argv)}"


def read_lines() -> list[Line]:
    lines = []
    for path in sorted(FOLDER.glob("*.toml")):
        for entry in tomllib.loads(path.read_text())["line"]:
            argv, program = (tuple(shlex.split(entry.pop(key))) for key in ("words", "program"))
            lines.append(Line(path.stem, argv, program, **entry))
    return lines


LINES = read_lines()
TABLE = pytest.mark.parametrize("line", LINES, ids=str)


def understood(line: Line):
    return parse_command(line.argv, "/work", {}, dialect=line.dialect)


@TABLE
def test_the_program_of_a_launch_line_is_found(line):
    assert understood(line).program == line.program


@TABLE
def test_the_dialect_of_a_launch_line_is_known(line):
    assert understood(line).dialect == line.dialect


@TABLE
def test_the_number_of_ranks_of_a_launch_line_is_counted(line):
    assert understood(line).ranks == line.ranks


@TABLE
def test_the_options_of_a_launch_line_have_their_meaning(line):
    options = understood(line).segments[0].options
    for meaning, expected in line.meanings.items():
        values = [" ".join(option.values) for option in options if option.meaning is Meaning(meaning)]
        assert values == (expected if isinstance(expected, list) else [expected])


@TABLE
def test_a_launch_line_is_written_again_word_by_word(line):
    launch = render(understood(line))
    assigned = tuple(f"{name}={value}" for name, value in launch.environment.items())
    assert (*assigned, *launch.argv) == line.argv
    assert launch.settings == ()


@pytest.mark.parametrize("name", dialects())
def test_every_dialect_has_lines_in_the_table(name):
    assert any(line.dialect == name for line in LINES)


def test_the_table_is_large():
    assert len(LINES) >= 60
