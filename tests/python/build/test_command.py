"""Reading compiler command lines."""

import pytest

from mpiric.build.command import Mode, expand, parse_compiler_command
from mpiric.build.compile import object_name, recorded_flags, words_for
from mpiric.build.driver import Target
from mpiric.build.inputs import linker_words, rewritten, without_wrap, wrapped_symbols


def arguments(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize(
    ("line", "mode"),
    [
        ("-c a.c -o a.o", Mode.COMPILE),
        ("a.c -o a", Mode.LINK),
        ("a.o -lm", Mode.LINK),
        ("-shared a.o -o liba.so", Mode.SHARED),
        ("-r a.o b.o -o c.o", Mode.PARTIAL),
        ("-E a.c", Mode.ASK),
        ("-S a.c", Mode.ASK),
        ("-MM a.c", Mode.ASK),
        ("-MD -MF a.d -c a.c", Mode.COMPILE),
        ("--version", Mode.ASK),
        ("-v", Mode.ASK),
        ("-print-search-dirs", Mode.ASK),
        ("-dumpmachine", Mode.ASK),
        ("-showme:link", Mode.ASK),
        ("-fsyntax-only a.c", Mode.ASK),
        ("-Wl,--as-needed", Mode.ASK),
        ("-x c++-header a.h -o a.h.gch", Mode.ASK),
        ("a.h", Mode.ASK),
        ("-xc -c -", Mode.COMPILE),
    ],
)
def test_a_command_line_is_understood_as_the_compiler_does(line: str, mode: Mode) -> None:
    assert parse_compiler_command(arguments(line)).mode is mode


def test_values_of_options_are_not_inputs() -> None:
    command = parse_compiler_command(
        arguments("-I inc -include config.h -MF dep.d -o out a.c -L lib -l m -Xlinker --x")
    )
    assert [source.path for source in command.sources] == ["a.c"]
    assert command.output == "out"
    assert [command.arguments[at] for at in command.inputs] == ["m", "--x"]


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("a.c", "c"),
        ("a.C", "c++"),
        ("a.cpp", "c++"),
        ("a.f90", "fortran"),
        ("a.F", "fortran"),
        ("a.s", ""),
        ("a.S", ""),
    ],
)
def test_the_ending_tells_the_language(name: str, dialect: str) -> None:
    assert parse_compiler_command(["-c", name]).sources[0].dialect == dialect


def test_x_overrules_the_ending_until_none() -> None:
    sources = parse_compiler_command(arguments("-x c++ a.c -x none b.c")).sources
    assert [source.dialect for source in sources] == ["c++", "c"]


def test_response_files_are_expanded_in_place() -> None:
    files = {"list": "b.o 'with space.o' @inner", "inner": "c.o"}
    assert expand(["a.o", "@list", "@missing"], files.get) == (
        "a.o",
        "b.o",
        "with space.o",
        "c.o",
        "@missing",
    )


def test_each_of_several_sources_is_compiled_alone() -> None:
    command = parse_compiler_command(arguments("-O2 -c a.c b.c -Iinc"))
    assert words_for(command, command.sources[1]) == ("-O2", "b.c", "-Iinc", "-c")
    assert object_name(command, command.sources[1]) == "b.o"


def test_linker_options_do_not_reach_the_compiler() -> None:
    command = parse_compiler_command(arguments("-O2 a.c -o prog -lm -Wl,-rpath,/x other.o -L lib"))
    assert words_for(command, command.sources[0]) == ("-O2", "a.c", "-L", "lib", "-c")


def test_recorded_flags_name_no_files() -> None:
    target = Target("haswell", ("-march=haswell",), ())
    flags = recorded_flags(arguments("-O3 -Iinc -DX=1 -include c.h -MD -MF a.d a.c -c"), target)
    assert flags == "-O3 -march=haswell"


def test_linker_inputs_are_rewritten_wherever_they_hide() -> None:
    command = parse_compiler_command(
        arguments("a.o -Wl,--start-group,x.a,y.a,--end-group -Xlinker x.a -lx -l x -o out")
    )
    removed = {"x.a", "-lx"}
    new = rewritten(command, lambda word: [] if word in removed else [word])
    assert new == arguments("a.o -Wl,--start-group,y.a,--end-group -o out")


def test_wrapping_is_taken_out_once_it_is_done() -> None:
    line = arguments("-Wl,--wrap=malloc,-z,now -Wl,--wrap,free a.o")
    assert wrapped_symbols(line) == ["malloc", "free"]
    assert without_wrap(line) == ["-Wl,-z,now", "a.o"]
    assert linker_words(line) == ["--wrap=malloc", "-z", "now", "--wrap", "free"]
