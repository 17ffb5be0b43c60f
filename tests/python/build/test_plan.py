"""Plans: which command lines have one, and who may read what is kept."""

from pathlib import Path

import pytest

from mpiric.build.command import parse_compiler_command
from mpiric.build.plan import CompilationPlan, PlanRequest, Step, holes_are_known, take_wanted, write

WORDS = ["gcc", "-O2", "-MF", "d/a.d", "-c", "src/a.cc", "-o", "a.o"]


def with_holes(argv: list[str], *positions: int) -> list[str]:
    return PlanRequest("path", "key", positions).with_holes(argv)


def test_of_a_source_the_ending_stays() -> None:
    assert with_holes(WORDS, 5, 3, 7)[5].endswith("\x1f.cc")
    assert "a" not in "".join(with_holes(WORDS, 5, 3, 7)[n] for n in (3, 7))


@pytest.mark.parametrize(
    ("argv", "positions", "is_known"),
    [
        (WORDS, (5, 3, 7), True),
        (["gcc", "-c", "a.c"], (2,), False),  # no output is named
        (["gcc", "-include", "a.c", "-c", "-o", "a.o"], (2, 5), False),
        (["gcc", "-c", "a.c", "-Xclang", "-o", "a.o"], (2, 5), False),
        (["gcc", "-c", "a.c", "b.c", "-o", "a.o"], (2, 5), False),
    ],
)
def test_holes_are_the_source_and_names_of_this_compilation(
    argv: list[str], positions: tuple[int, ...], is_known: bool
) -> None:
    assert holes_are_known(parse_compiler_command(with_holes(argv, *positions)[1:])) is is_known


def test_tools_do_not_see_the_requested_plan() -> None:
    environ = {"MPIRIC_PLAN": "p", "MPIRIC_PLAN_KEY": "k", "MPIRIC_PLAN_WORDS": "3 4", "A": "b"}
    assert take_wanted(environ) == PlanRequest("p", "k", (3, 4))
    assert environ == {"A": "b"}
    assert take_wanted(environ) is None
    environ = {"MPIRIC_PLAN_QUESTION": "q", "MPIRIC_PLAN_QUESTION_KEY": "k"}
    assert take_wanted(environ) == PlanRequest("", "", (), "q", "k")


def test_a_plan_is_whole_and_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "plans/1"
    write(
        CompilationPlan([Step(("gcc", "\udcff"), "a.o")], (), False, (), False, (), ()),
        PlanRequest(str(path), "key", (1,)),
    )
    assert path.stat().st_mode & 0o077 == 0
    assert path.read_bytes().endswith(b"\x002\0gcc\0\xff\0")
    assert [entry.name for entry in path.parent.iterdir()] == ["1"]
