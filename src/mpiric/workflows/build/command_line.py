"""A compiler's command line with everything known that decides what is built."""

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mpiric.build import wishes as reading
from mpiric.build.command import Command, Mode, expand, parse_compiler_command
from mpiric.build.driver import Driver
from mpiric.build.plan import (
    PlanRequest,
    own_files,
    write_question,
)
from mpiric.build.targets import DEFAULT_TARGETS
from mpiric.build.wishes import Wishes
from mpiric.host.toolchain import Toolchain
from mpiric.workflows.build.compiler_choice import choose_compiler

# Where CMake and Meson try things; autoconf calls its file conftest.
QUESTIONS_OF_BUILD_SYSTEMS = (
    *("/CMakeFiles/CMakeTmp/", "/CMakeFiles/CMakeScratch/", "/meson-private/"),
    "/conftest.",
)


class PreparedCommand(NamedTuple):
    """A command line with everything known that decides what is built."""

    driver: Driver
    wishes: Wishes
    command: Command
    on_cluster: bool  # the machines there are may change


def prepare_command(
    verb: str,
    given: Sequence[str],
    toolchain: Toolchain,
    machines: Callable[[str], Sequence[str]],
    wanted: PlanRequest | None = None,
) -> PreparedCommand:
    """Read the command line; what a build system asks goes to the compiler, which takes this process over."""
    options, rest = reading.own_options(given)
    compiler, words = choose_compiler(verb, options, rest, toolchain.environ)
    expanded = expand(words, _read)
    command = parse_compiler_command(expanded)
    is_question = _is_question(command)
    named = len(rest) - len(words)
    if is_question and wanted and wanted.question_path and not options and named < 2:
        witnesses = (*Driver(compiler, toolchain).witnesses, *own_files())
        write_question(wanted, compiler, named, QUESTIONS_OF_BUILD_SYSTEMS, witnesses)
    if is_question or command.mode in (Mode.ASK, Mode.PARTIAL):
        toolchain.become([*compiler, *words])
    driver = Driver(compiler, toolchain)
    requested = options.get("--targets") or toolchain.environ.get("MPIRIC_TARGETS", "")
    targets = reading.split_targets(requested) or DEFAULT_TARGETS[driver.identity.machine]
    on_cluster = "cluster" in targets
    if on_cluster:
        targets = [*(t for t in targets if t != "cluster"), *machines(driver.identity.machine)]
    wishes = reading.read(expanded, targets, driver.identity.machine, driver.name_of)
    wishes = reading.from_environment(wishes, options, toolchain.environ)
    if any(word.startswith(("-flto", "-ipo")) for word in wishes.words):  # else the families need not be read
        wishes = reading.without_intermediate(wishes, driver.family.words("intermediate"))
    return PreparedCommand(driver, wishes, parse_compiler_command(wishes.words), on_cluster)


def _is_question(command: Command) -> bool:
    """Whether a build system only asks what the compiler can do: that answers by itself, and sooner."""
    where = os.getcwd()
    paths = (f"{where}/{source.path}" for source in command.sources)
    return any(mark in path for path in paths for mark in QUESTIONS_OF_BUILD_SYSTEMS)


def _read(path: str) -> str | None:
    if not os.path.isfile(path):
        return None
    with open(path, errors="surrogateescape") as file:
        return file.read()
