"""A compiler's command line, with all properties that determine the build."""

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mpiric.build import build_options as reading
from mpiric.build.build_options import BuildOptions
from mpiric.build.command import Command, Mode, expand, parse_compiler_command
from mpiric.build.driver import Driver
from mpiric.build.plan import (
    PlanRequest,
    own_files,
    write_question,
)
from mpiric.build.targets import DEFAULT_TARGETS
from mpiric.host.toolchain import Toolchain
from mpiric.workflows.build.compiler_choice import choose_compiler

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
    is_question = _is_question(command)
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
    if any(
        word.startswith(("-flto", "-ipo")) for word in build_options.arguments
    ):  # else the families need not be read
        build_options = reading.without_intermediate(build_options, driver.family.flag_list("intermediate"))
    return PreparedCommand(driver, build_options, parse_compiler_command(build_options.arguments), on_cluster)


def _is_question(command: Command) -> bool:
    """Return whether a build system is only checking the compiler; a plain compilation is sufficient."""
    where = os.getcwd()
    paths = (f"{where}/{source.path}" for source in command.sources)
    return any(mark in path for path in paths for mark in QUESTIONS_OF_BUILD_SYSTEMS)


def _read(path: str) -> str | None:
    if not os.path.isfile(path):
        return None
    with open(path, errors="surrogateescape") as file:
        return file.read()
