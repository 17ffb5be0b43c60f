"""C++ unit tests (doctest) of the mapping engine: sources and tests in one unit, with sanitizers."""

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
    unit = directory / "unit.cpp"
    lines = [f'#include "{path}"' for path in [*sources, *sorted(HERE.glob("test_*.cpp"))]]
    unit.write_text("\n".join(["#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN", *lines]))
    binary = directory / "units"
    subprocess.run(["g++", *OPTIONS, "-fsanitize=address,undefined", unit, "-o", binary], check=True)
    return binary


@pytest.mark.requires("g++", "header:doctest/doctest.h")
def test_units(units):
    done = subprocess.run([units], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
