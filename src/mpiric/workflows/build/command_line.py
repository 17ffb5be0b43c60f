"""A compiler's command line, with all properties that determine the build."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mpiric.build import build_options as reading
from mpiric.build.build_options import BuildOptions
from mpiric.build.command import Command, Mode, expand, is_input_name, parse_compiler_command, split_words
from mpiric.build.driver import Driver
from mpiric.build.plan import PlanRequest, own_files, write_question
from mpiric.build.targets import DEFAULT_TARGETS
from mpiric.host.toolchain import Toolchain, which
from mpiric.model.errors import NotFoundError

_COMPILERS = {
    "cc": ("MPIRIC_CC", ("cc", "gcc", "clang")),
    "cxx": ("MPIRIC_CXX", ("c++", "g++", "clang++")),
    "fc": ("MPIRIC_FC", ("gfortran", "flang", "ifx", "nvfortran")),
}


def choose_compiler(
    verb: str, options: Mapping[str, str], arguments: list[str], environ: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Return the real compiler: ``--compiler``, leading program names, the environment, or the default."""
    variable, usual = _COMPILERS[verb]
    if "--compiler" in options:
        return split_words(options["--compiler"]), arguments
    named: list[str] = []
    while (
        arguments
        and not arguments[0].startswith(("-", "@"))
        and not is_input_name(arguments[0])
        and which(arguments[0])
    ):
        if os.path.isfile(arguments[0]) and "/" not in arguments[0]:
            break  # an input file with that name in this directory
        named.append(arguments[0])
        arguments = arguments[1:]
        if os.path.basename(named[-1]) not in ("ccache", "sccache", "distcc", "icecc"):
            break
    if named:
        return named, arguments
    first = arguments[0] if arguments else "-"
    if not (first.startswith(("-", "@")) or is_input_name(first) or os.path.exists(first)):
        raise NotFoundError(f"'{first}' is neither a compiler on PATH nor a file")
    if environ.get(variable, "").strip():
        return split_words(environ[variable]), arguments
    compiler = next((name for name in usual if which(name, environ.get("PATH"))), None)
    if compiler is None:
        raise NotFoundError(f"no compiler: none of {', '.join(usual)} is on PATH", hint=f"set {variable}")
    return [compiler], arguments


# Directories for checks of CMake and Meson; autoconf's file is called conftest.
QUESTIONS_OF_BUILD_SYSTEMS = (
    *("/CMakeFiles/CMakeTmp/", "/CMakeFiles/CMakeScratch/", "/meson-private/"),
    "/conftest.",
)


class PreparedCommand(NamedTuple):
    """Parsed command line, with all properties that determine the build."""

    driver: Driver
    build_options: BuildOptions
    command: Command
    on_cluster: bool  # depends on the machines of the cluster, which may change


def prepare_command(
    verb: str,
    command_line: Sequence[str],
    toolchain: Toolchain,
    machines: Callable[[str], Sequence[str]],
    plan_request: PlanRequest | None = None,
) -> PreparedCommand:
    """Parse the command line; checks of build systems go to the compiler, which replaces this process."""
    options, remaining = reading.own_options(command_line)
    compiler, arguments = choose_compiler(verb, options, remaining, toolchain.environ)
    expanded = expand(arguments, _read)
    command = parse_compiler_command(expanded)
    where = os.getcwd()
    paths = (f"{where}/{source.path}" for source in command.sources)
    is_question = any(mark in path for path in paths for mark in QUESTIONS_OF_BUILD_SYSTEMS)
    named = len(remaining) - len(arguments)
    if is_question and plan_request and plan_request.question_path and not options and named < 2:
        witnesses = (*Driver(compiler, toolchain).witnesses, *own_files())
        write_question(plan_request, compiler, named, QUESTIONS_OF_BUILD_SYSTEMS, witnesses)
    if is_question or command.mode in (Mode.ASK, Mode.PARTIAL):
        toolchain.become([*compiler, *arguments])
    driver = Driver(compiler, toolchain)
    requested = options.get("--targets") or toolchain.environ.get("MPIRIC_TARGETS", "")
    targets = reading.split_targets(requested) or DEFAULT_TARGETS[driver.identity.machine]
    on_cluster = "cluster" in targets
    if on_cluster:
        targets = [*(t for t in targets if t != "cluster"), *machines(driver.identity.machine)]
    build_options = reading.read(expanded, targets, driver.identity.machine, driver.name_of)
    build_options = reading.from_environment(build_options, options, toolchain.environ)
    # The families are read only if an option is present that may have to be removed.
    if any(word.startswith(("-flto", "-ipo")) for word in build_options.arguments):
        build_options = reading.without_intermediate(build_options, driver.family.flag_list("intermediate"))
    return PreparedCommand(driver, build_options, parse_compiler_command(build_options.arguments), on_cluster)


def _read(path: str) -> str | None:
    if not os.path.isfile(path):
        return None
    with open(path, errors="surrogateescape") as file:
        return file.read()
