"""`mpiric cc`, `cxx`, `fc`: a compiler's command line, with every object and program fat."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mpiric.build import wishes as reading
from mpiric.build.command import Command, Mode, expand, stem, understand
from mpiric.build.compile import baseline_alone, compile_source, directories, object_name, steps, task_of
from mpiric.build.driver import Driver
from mpiric.build.plan import (
    SCRATCH,
    CompilationPlan,
    PlanRequest,
    holes_are_known,
    own_files,
    write,
    write_question,
)
from mpiric.build.targets import DEFAULT_TARGETS
from mpiric.build.wishes import Wishes
from mpiric.host.toolchain import Scratch, Toolchain
from mpiric.workflows.build.compiler_choice import choose_compiler

# Where CMake and Meson try things; autoconf calls its file conftest.
_QUESTIONS_OF_BUILD_SYSTEMS = (
    *("/CMakeFiles/CMakeTmp/", "/CMakeFiles/CMakeScratch/", "/meson-private/"),
    "/conftest.",
)


class CompileOutcome(NamedTuple):
    """Exit status, the compiler's own words, and what mpiric has to say."""

    status: int
    words: str = ""
    sentences: tuple[str, ...] = ()


class _Prepared(NamedTuple):
    """A command line with everything known that decides what is built."""

    driver: Driver
    wishes: Wishes
    command: Command
    on_cluster: bool  # the machines there are may change


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
    prepared = _prepare(verb, given, toolchain, machines, wanted)
    outcome = _build(prepared.driver, prepared.wishes)
    if wanted and wanted.path and outcome.status == 0 and prepared.command.mode is Mode.COMPILE:
        _write_plan(_prepare(verb, wanted.with_holes(given), toolchain, machines), wanted)
    return outcome


def _prepare(
    verb: str,
    given: Sequence[str],
    toolchain: Toolchain,
    machines: Callable[[str], Sequence[str]],
    wanted: PlanRequest | None = None,
) -> _Prepared:
    options, rest = reading.own_options(given)
    compiler, words = choose_compiler(verb, options, rest, toolchain.environ)
    expanded = expand(words, _read)
    command = understand(expanded)
    is_question = _is_question(command)
    named = len(rest) - len(words)
    if is_question and wanted and wanted.question_path and not options and named < 2:
        witnesses = (*Driver(compiler, toolchain).witnesses, *own_files())
        write_question(wanted, compiler, named, _QUESTIONS_OF_BUILD_SYSTEMS, witnesses)
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
    return _Prepared(driver, wishes, understand(wishes.words), on_cluster)


def _write_plan(prepared: _Prepared, wanted: PlanRequest) -> None:
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
        not_for=_QUESTIONS_OF_BUILD_SYSTEMS,
        witnesses=(*driver.witnesses, *own_files()),
    )
    write(plan, wanted)


def _is_question(command: Command) -> bool:
    """Whether a build system only asks what the compiler can do: that answers by itself, and sooner."""
    where = os.getcwd()
    paths = (f"{where}/{source.path}" for source in command.sources)
    return any(mark in path for path in paths for mark in _QUESTIONS_OF_BUILD_SYSTEMS)


def _build(driver: Driver, wishes: Wishes) -> CompileOutcome:
    command = understand(wishes.words)
    if command.mode is Mode.COMPILE:
        return _compile_all(driver, wishes, command, "")
    with Scratch() as place:
        compiled = _compile_all(driver, wishes, command, place)
        if compiled.status != 0:
            return compiled
        command = _with_objects(command, place)
        from mpiric.build.link import link  # most commands only compile
        from mpiric.build.shared import link_shared

        linked = link_shared(driver, command) if command.mode is Mode.SHARED else link(driver, command)
    return CompileOutcome(
        linked.status, compiled.words + linked.words, (*compiled.sentences, *linked.sentences)
    )


def _compile_all(driver: Driver, wishes: Wishes, command: Command, place: str) -> CompileOutcome:
    output, sentences = "", wishes.sentences
    stdin = sys.stdin.buffer.read() if any(s.path == "-" for s in command.sources) else None
    for source in command.sources:
        output = object_name(command, source)
        if command.mode is not Mode.COMPILE:
            output = _temporary(place, source.position, source.path)
        done = compile_source(driver, wishes, command, source, output, stdin)
        output += done.words
        sentences += done.sentences
        if done.status != 0:
            return CompileOutcome(done.status, output, sentences)
    return CompileOutcome(0, output, sentences)


def _temporary(place: str, position: int, source: str) -> str:
    return f"{place}/{position:04d}-{stem(source)}.o"


def _with_objects(command: Command, place: str) -> Command:
    """The link command once its sources are compiled; a language given with ``-x`` was for those."""
    words = list(command.words)
    for source in command.sources:
        words[source.position] = _temporary(place, source.position, source.path)
    drop = {at for at, word in enumerate(words) if word == "-x" and at not in command.values}
    drop |= {at + 1 for at in drop}
    drop |= {
        at for at, word in enumerate(words) if word in ("-xc", "-xc++", "-xnone") and at not in command.values
    }
    return understand([word for at, word in enumerate(words) if at not in drop])


def _read(path: str) -> str | None:
    if not os.path.isfile(path):
        return None
    with open(path, errors="surrogateescape") as file:
        return file.read()


def once(outcome: CompileOutcome) -> CompileOutcome:
    """The same with each sentence once."""
    return outcome._replace(sentences=tuple(dict.fromkeys(outcome.sentences)))
