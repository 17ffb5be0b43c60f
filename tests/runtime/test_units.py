"""The runtime's C++ unit tests (doctest), each built from the sources that it tests, and run."""

import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RUNTIME = HERE.parents[1] / "src/runtime"
NEEDS = {"world": pytest.mark.requires("mpi:mpich")}
PROGRAMS = [
    pytest.param(path, id=path.stem, marks=NEEDS.get(path.parent.name, ()))
    for path in sorted(HERE.glob("*/test_*.cpp"))
]
OPTIONS = ("-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{RUNTIME}", f"-I{HERE}")
SANITIZED = ("-g1", "-fsanitize=address,undefined")
TUNE = ("candidate", "learner", "policy", "race")
RECORDER = ("recorder", "rank_file", "merged_file", "timeline")
# Sources of tests that need others than the source they are named for.
SOURCES = {
    "test_arithmetic": [],
    "test_communicators": ["world/communicators.cpp", "world/datatypes.cpp"],
    "test_decision": [
        *(f"select/decision/{path.name}" for path in sorted(RUNTIME.glob("select/decision/*.cpp"))),
        *("base/text.cpp", *(f"tune/{name}.cpp" for name in TUNE)),
    ],
    "test_handle_bag": [],
    "test_handle_map": [],
    "test_own_file": [],
    "test_digest": [],
    "test_job": ["system/job.cpp", "system/text.cpp"],
    "test_layouts": [
        *("layouts/layouts.cpp", "base/text.cpp"),
        *(f"profile/{name}.cpp" for name in (*RECORDER, "lost_pages")),
    ],
    "test_mark": ["marks/marks.cpp"],
    "test_merge": [
        "world/merge.cpp",
        *(f"profile/{name}.cpp" for name in RECORDER),
    ],
    "test_order": ["order/order.cpp", "base/text.cpp"],
    "test_pace": [],
    "test_policy": ["tune/policy.cpp", "tune/candidate.cpp", "tune/shape.cpp", "base/text.cpp"],
    "test_race": ["tune/race.cpp", "tune/learner.cpp"],
    "test_readable": ["symbols/modules.cpp", *(f"profile/{name}.cpp" for name in RECORDER)],
    "test_recorder": [f"profile/{name}.cpp" for name in (*RECORDER, "lost_pages")],
    "test_secrets": [],
    "test_seat": ["system/seat.cpp", "system/text.cpp"],
}


def sources(program: Path) -> list[Path]:
    """Return the sources of a test: by default the source with its name."""
    default = f"{program.parent.name}/{program.stem.removeprefix('test_')}.cpp"
    return [program, *(RUNTIME / name for name in SOURCES.get(program.stem, [default]))]


def includes(program: Path, mpi_prefix) -> list[str]:
    """Return options for further headers: rooms that use MPI need an MPI library's, which is not linked."""
    if program.parent.name != "world":
        return []
    return [
        f"-I{program.parent}",
        "-DMPIRIC_MPI_HEADER=<mpi.h>",
        "-isystem",
        f"{mpi_prefix('mpich')}/include",
    ]


def compile_units(compiler: str, *arguments: object) -> None:
    """Run a compiler with the options of all unit tests."""
    subprocess.run([compiler, *OPTIONS, *map(str, arguments)], check=True)


@pytest.fixture(scope="session")
def doctest_main(tmp_path_factory):
    """The object with the main function; plain, because most of it is doctest itself."""
    target = tmp_path_factory.mktemp("doctest") / "main.o"
    compile_units("g++", "-O0", "-c", HERE / "doctest_main.cpp", "-o", target)
    return target


# Messages on stderr about failures that the tests provoke.
PROVOKED = {
    "test_layouts": "mpiric: files keep the layout of their directory: theirs cannot be set: a.?0\n",
    "test_merge": "mpiric: the records of the ranks could not be written to one file: "
    "No such file or directory\n",
}


@pytest.mark.requires("g++", "header:doctest/doctest.h")
@pytest.mark.parametrize("program", PROGRAMS)
def test_unit(program, doctest_main, generated, mpi_prefix, tmp_path):
    binary, unit = tmp_path / program.stem, tmp_path / "unit.cpp"
    # One translation unit, as in the library's own build: the headers are read once.
    unit.write_text("".join(f'#include "{path}"\n' for path in sources(program)))
    arch = RUNTIME / "base/arch" / os.uname().machine
    headers = [f"-I{arch}", f"-I{generated}", *includes(program, mpi_prefix)]
    compile_units("g++", *SANITIZED, *headers, unit, doctest_main, "-o", binary)
    done = subprocess.run([binary], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, PROVOKED.get(program.stem, "")), done.stdout
