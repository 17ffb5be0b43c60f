"""The mapping engine's C++ unit tests (doctest): sources and tests as one, built with sanitizers, and run."""

import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MAPPER = HERE.parents[1] / "src/mapper"
OPTIONS = ("-std=c++20", "-Og", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{MAPPER}", f"-I{HERE}")


@pytest.fixture(scope="module")
def units(tmp_path_factory):
    directory = tmp_path_factory.mktemp("mapper")
    sources = [*sorted(MAPPER.glob("[!m]*.cpp")), MAPPER / "machine.cpp", *sorted(MAPPER.glob("*/*.cpp"))]
    whole = directory / "whole.cpp"
    lines = [f'#include "{path}"' for path in [*sources, *sorted(HERE.glob("test_*.cpp"))]]
    whole.write_text("\n".join(["#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN", *lines]))
    binary = directory / "units"
    subprocess.run(["g++", *OPTIONS, "-fsanitize=address,undefined", whole, "-o", binary], check=True)
    return binary


@pytest.mark.requires("g++", "header:doctest/doctest.h")
def test_units_hold_what_they_state(units):
    done = subprocess.run([units], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
