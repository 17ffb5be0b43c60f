"""`mpiric cc`, `cxx`, `fc`: a compiler's command line that produces fat objects and programs."""

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mpiric.build.build_options import BuildOptions
from mpiric.build.command import Command, Mode, parse_compiler_command, stem
from mpiric.build.compile import baseline_alone, compile_source, directories, object_name, steps, task_of
from mpiric.build.driver import Driver
from mpiric.build.plan import SCRATCH, CompilationPlan, PlanRequest, holes_are_known, own_files, write
from mpiric.host.toolchain import Scratch, Toolchain
from mpiric.workflows.build.command_line import QUESTIONS_OF_BUILD_SYSTEMS, PreparedCommand, prepare_command


def object_path(directory: str, position: int, source: str) -> str:
    """Return the path of a source's object for the link."""
    return f"{directory}/{position:04d}-{stem(source)}.o"


def with_objects(command: Command, directory: str) -> Command:
    """Return the link command with objects instead of sources, without the ``-x`` option."""
    argv = list(command.arguments)
    for source in command.sources:
        argv[source.position] = object_path(directory, source.position, source.path)
    drop = {at for at, word in enumerate(argv) if word == "-x" and at not in command.values}
    drop |= {at + 1 for at in drop}
    drop |= {
        at for at, word in enumerate(argv) if word in ("-xc", "-xc++", "-xnone") and at not in command.values
    }
    return parse_compiler_command([word for at, word in enumerate(argv) if at not in drop])


class CompileOutcome(NamedTuple):
    """Exit status, messages of the compiler, and messages of mpiric."""

    status: int
    messages: str = ""
    sentences: tuple[str, ...] = ()


def build(
    verb: str,
    command_line: Sequence[str],
    toolchain: Toolchain,
    machines: Callable[[str], Sequence[str]],
    plan_request: PlanRequest | None = None,
) -> CompileOutcome:
    """Do what the compiler would do; does not return if nothing is to be compiled or linked.

    A compilation also writes the plan that ``plan_request`` requests.
    """
    prepared = prepare_command(verb, command_line, toolchain, machines, plan_request)
    outcome = _build(prepared.driver, prepared.build_options)
    if plan_request and plan_request.path and outcome.status == 0 and prepared.command.mode is Mode.COMPILE:
        _write_plan(
            prepare_command(verb, plan_request.with_holes(command_line), toolchain, machines), plan_request
        )
    return outcome


def _write_plan(prepared: PreparedCommand, plan_request: PlanRequest) -> None:
    """Write the plan for compiling other files with this command line, if it is the same for all files."""
    driver, build_options, command = prepared.driver, prepared.build_options, prepared.command
    if prepared.on_cluster or build_options.explain_vectorisation or not holes_are_known(command):
        return
    task = task_of(driver, build_options, command, command.sources[0], command.output, SCRATCH)
    plan = CompilationPlan(
        steps=steps(task),
        directories=directories(task),
        baseline_alone=baseline_alone(task),
        sentences=build_options.sentences,
        retry=bool(build_options.feature_words),
        not_for=QUESTIONS_OF_BUILD_SYSTEMS,
        witnesses=(*driver.witnesses, *own_files()),
    )
    write(plan, plan_request)


def _build(driver: Driver, build_options: BuildOptions) -> CompileOutcome:
    command = parse_compiler_command(build_options.arguments)
    if command.mode is Mode.COMPILE:
        return _compile_all(driver, build_options, command, "")
    with Scratch() as directory:
        compiled = _compile_all(driver, build_options, command, directory)
        if compiled.status != 0:
            return compiled
        command = with_objects(command, directory)
        from mpiric.build.link import link  # most commands only compile
        from mpiric.build.plain_link import link_shared

        linked = link_shared(driver, command) if command.mode is Mode.SHARED else link(driver, command)
    return CompileOutcome(
        linked.status, compiled.messages + linked.messages, (*compiled.sentences, *linked.sentences)
    )


def _compile_all(
    driver: Driver, build_options: BuildOptions, command: Command, directory: str
) -> CompileOutcome:
    printed, sentences = "", build_options.sentences
    stdin = sys.stdin.buffer.read() if any(s.path == "-" for s in command.sources) else None
    for source in command.sources:
        output = object_name(command, source)
        if command.mode is not Mode.COMPILE:
            output = object_path(directory, source.position, source.path)
        done = compile_source(driver, build_options, command, source, output, stdin)
        printed += done.messages
        sentences += done.sentences
        if done.status != 0:
            return CompileOutcome(done.status, printed, sentences)
    return CompileOutcome(0, printed, sentences)


def once(outcome: CompileOutcome) -> CompileOutcome:
    """Return the outcome without repeated sentences."""
    return outcome._replace(sentences=tuple(dict.fromkeys(outcome.sentences)))
