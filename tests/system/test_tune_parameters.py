"""`mpiric tune --param` with a real launcher."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.mpis import find_mpis

SOURCE = Path(__file__).parent / "programs/waits.c"
MPIRIC = (sys.executable, "-m", "mpiric")
pytestmark = pytest.mark.requires("gcc", "mpi:mpich")


def output_of(place: Path, *command: str) -> str:
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parameters")


@pytest.fixture(scope="module")
def line(place: Path) -> tuple[str, ...]:
    mpich = next(mpi for mpi in find_mpis(LocalHost()) if mpi.label.startswith("mpich-5"))
    subprocess.run([mpich.compilers["c"], str(SOURCE), "-o", str(place / "waits")], check=True)
    return ("--store", str(place / "store"), "--", mpich.launcher, "-n", "2", str(place / "waits"), "{MS}")


@pytest.fixture(scope="module")
def tuned(place: Path, line: tuple[str, ...]) -> Mapping[str, Any]:
    options = ("--only", "param", "--param", "MS=400,20,200", "--budget", "2m", "--json")
    result: Mapping[str, Any] = json.loads(output_of(place, *MPIRIC, "tune", *options, *line))
    return result


def test_the_fastest_value_is_proved(tuned):
    assert (tuned["verdict"], tuned["configuration"]) == ("faster", {"{MS}": "20"})


def test_the_printed_command_has_the_fastest_value(tuned, line, place):
    assert tuned["command"]["argv"] == [*line[3:-1], "20"]
    assert output_of(place, *tuned["command"]["argv"]) == "2 ranks\n"


def test_run_puts_the_value_of_the_recipe_into_the_command(tuned, line, place):
    assert output_of(place, *MPIRIC, "run", "--dry-run", *line).split() == tuned["command"]["argv"]
    assert output_of(place, *MPIRIC, "run", *line) == "2 ranks\n"


def test_the_launch_line_of_a_pack_has_the_value_of_the_recipe(tuned, line, place):
    assert tuned["recipe"]
    packed = output_of(place, *MPIRIC, "pack", "--output", "waits.pack", *line)
    assert "./waits.pack 20\n" in packed


@pytest.fixture(scope="module")
def file_line(place: Path, line: tuple[str, ...]) -> tuple[str, ...]:
    """A program that reads its parameter from a file of a fixed name."""
    (place / "reads.sh").write_text(f'exec {place / "waits"} "$(cat ms.txt)"\n')
    (place / "ms.txt.in").write_text("{MS}\n")
    return ("--store", str(place / "file-store"), "--", *line[3:-2], "sh", str(place / "reads.sh"))


@pytest.fixture(scope="module")
def tuned_file(place: Path, file_line: tuple[str, ...]) -> Mapping[str, Any]:
    parameter = ("--param", "MS=400,20", "--param-file", "ms.txt.in")
    options = ("--only", "param", *parameter, "--budget", "2m", "--json")
    result: Mapping[str, Any] = json.loads(output_of(place, *MPIRIC, "tune", *options, *file_line))
    return result


def test_the_fastest_value_in_a_file_is_proved_and_the_users_directory_is_left_alone(tuned_file, place):
    assert (tuned_file["verdict"], tuned_file["configuration"]) == ("faster", {"{MS}": "20"})
    assert not (place / "ms.txt").exists()


def test_run_writes_the_file_with_the_value_of_the_recipe(tuned_file, place, file_line):
    assert output_of(place, *MPIRIC, "run", "--param-file", "ms.txt.in", *file_line) == "2 ranks\n"
    assert (place / "ms.txt").read_text() == "20\n"
