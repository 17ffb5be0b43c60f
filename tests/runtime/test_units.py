"""The runtime's C++ tests, each built from the sources it is about and run."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "src/runtime"
PROGRAMS = sorted(Path(__file__).parent.glob("*/test_*.cpp"))
SOURCES = {
    "test_recorder": [
        *("profile/recorder.cpp", "profile/rank_file.cpp", "profile/merged_file.cpp", "profile/timeline.cpp"),
        "profile/lost_pages.cpp",
    ],
    "test_timeline": ["profile/timeline.cpp"],
    "test_handle_bag": [],
    "test_handle_map": [],
    "test_arithmetic": [],
    "test_readable": ["symbols/readable.cpp"],
    "test_text": ["system/text.cpp"],
    "test_seat": ["system/seat.cpp", "system/text.cpp"],
    "test_levels": ["coll/levels.cpp"],
    "test_options": ["base/options.cpp"],
    "test_race": ["tune/race.cpp", "tune/learner.cpp"],
    "test_policy": ["tune/policy.cpp", "tune/candidate.cpp", "tune/shape.cpp"],
}


@pytest.mark.requires("g++")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_unit_holds_what_it_states(program, tmp_path):
    binary = tmp_path / program.stem
    includes = [RUNTIME, RUNTIME / "base/arch" / os.uname().machine, Path(__file__).parent]
    sources = [program, *(RUNTIME / name for name in SOURCES[program.stem])]
    options = [
        "-std=c++20",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsanitize=address,undefined",
        "-pthread",
    ]
    subprocess.run(
        ["g++", *options, *(f"-I{path}" for path in includes), *map(str, sources), "-o", str(binary)],
        check=True,
    )
    done = subprocess.run([binary], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
