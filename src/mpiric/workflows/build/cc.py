"""`mpiric cc`, `cxx`, `fc`: a compiler's command line, with every object and program fat."""

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mpiric.build.command import Command, Mode, parse_compiler_command
from mpiric.build.compile import baseline_alone, compile_source, directories, object_name, steps, task_of
from mpiric.build.driver import Driver
from mpiric.build.plan import (
    SCRATCH,
    CompilationPlan,
    PlanRequest,
    holes_are_known,
    own_files,
    write,
)
from mpiric.build.wishes import Wishes
from mpiric.host.toolchain import Scratch, Toolchain
from mpiric.workflows.build.command_line import QUESTIONS_OF_BUILD_SYSTEMS, PreparedCommand, prepare_command
from mpiric.workflows.build.link_command import object_path, with_objects


class CompileOutcome(NamedTuple):
    """Exit status, the compiler's own words, and what mpiric has to say."""

    status: int
    words: str = ""
    sentences: tuple[str, ...] = ()


def build(
    verb: str,
    given: Sequence[str],
    toolchain: Toolchain,
    machines: Callable[[str], Sequence[str]],
    wanted: PlanRequest | None = None,
) -> CompileOutcome:
    """Do what the compiler would do; does not return when nothing is to be compiled or linked.

    A compilation also leaves the plan that is ``wanted``.
    """
    prepared = prepare_command(verb, given, toolchain, machines, wanted)
    outcome = _build(prepared.driver, prepared.wishes)
    if wanted and wanted.path and outcome.status == 0 and prepared.command.mode is Mode.COMPILE:
        _write_plan(prepare_command(verb, wanted.with_holes(given), toolchain, machines), wanted)
    return outcome


def _write_plan(prepared: PreparedCommand, wanted: PlanRequest) -> None:
    """Write down the compilation of any file by this command line, where no file's has to be another."""
    driver, wishes, command = prepared.driver, prepared.wishes, prepared.command
    if prepared.on_cluster or wishes.explain_vectorisation or not holes_are_known(command):
        return
    task = task_of(driver, wishes, command, command.sources[0], command.output, SCRATCH)
    plan = CompilationPlan(
        steps=steps(task),
        directories=directories(task),
        baseline_alone=baseline_alone(task),
        sentences=wishes.sentences,
        retry=bool(wishes.feature_words),
        not_for=QUESTIONS_OF_BUILD_SYSTEMS,
        witnesses=(*driver.witnesses, *own_files()),
    )
    write(plan, wanted)


def _build(driver: Driver, wishes: Wishes) -> CompileOutcome:
    command = parse_compiler_command(wishes.words)
    if command.mode is Mode.COMPILE:
        return _compile_all(driver, wishes, command, "")
    with Scratch() as directory:
        compiled = _compile_all(driver, wishes, command, directory)
        if compiled.status != 0:
            return compiled
        command = with_objects(command, directory)
        from mpiric.build.link import link  # most commands only compile
        from mpiric.build.shared import link_shared

        linked = link_shared(driver, command) if command.mode is Mode.SHARED else link(driver, command)
    return CompileOutcome(
        linked.status, compiled.words + linked.words, (*compiled.sentences, *linked.sentences)
    )


def _compile_all(driver: Driver, wishes: Wishes, command: Command, directory: str) -> CompileOutcome:
    printed, sentences = "", wishes.sentences
    stdin = sys.stdin.buffer.read() if any(s.path == "-" for s in command.sources) else None
    for source in command.sources:
        output = object_name(command, source)
        if command.mode is not Mode.COMPILE:
            output = object_path(directory, source.position, source.path)
        done = compile_source(driver, wishes, command, source, output, stdin)
        printed += done.words
        sentences += done.sentences
        if done.status != 0:
            return CompileOutcome(done.status, printed, sentences)
    return CompileOutcome(0, printed, sentences)


def once(outcome: CompileOutcome) -> CompileOutcome:
    """The same with each sentence once."""
    return outcome._replace(sentences=tuple(dict.fromkeys(outcome.sentences)))
