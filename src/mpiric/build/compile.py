"""Compilation of a source file into a fat object: the baseline object with the other variants as sections."""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from mpiric.build.build_options import BuildOptions
from mpiric.build.command import Command, Mode, Source, parse_compiler_command, stem, without
from mpiric.build.driver import Driver, Target
from mpiric.build.edit import ObjectEditor
from mpiric.build.elf import RELOCATABLE, SHF_EXCLUDE, STT_IFUNC, ElfFile, is_elf
from mpiric.build.payload import SECTION_PREFIX, Origin, describe, pack
from mpiric.build.plan import Step
from mpiric.host.toolchain import Finished, Scratch

_DEPENDENCY_FLAGS = ("-MD", "-MMD", "-MP", "-MG")
_SPLIT = "-gsplit-dwarf"
_FILES_BESIDE = (_SPLIT, "-save-temps", "-save-temps=obj", "-save-temps=cwd")
_DEPENDENCY_VALUES = ("-MF", "-MT", "-MQ")
_FORGET = frozenset({"-c", "-pipe"})
_DULL = (  # prefixes of options that do not affect the code
    "-dump", "-I", "-D", "-U", "-M", "-J", "-W", "-i", "-L", "-B", "-fdebug-prefix-map",
    "-ffile-prefix-map",
)  # fmt: skip


class Compiled(NamedTuple):
    """Result of compiling a source file."""

    status: int
    messages: str  # output of the compiler
    sentences: tuple[str, ...] = ()


class Task(NamedTuple):
    """Compilation of a source file."""

    driver: Driver
    build_options: BuildOptions
    command: Command
    source: Source
    arguments: tuple[str, ...]  # arguments for this source only, without -o
    output: str
    scratch: str  # scratch directory
    targets: tuple[Target, ...]  # baseline first; () if the object has no variants


def object_name(command: Command, source: Source) -> str:
    """Return the path of the object of a source."""
    named = command.output if command.mode is Mode.COMPILE else ""
    return named or f"{stem(source.path)}.o"


def words_for(command: Command, source: Source) -> tuple[str, ...]:
    """Return the arguments that compile one source: no other source, output or linker input."""
    drop = {s.position for s in command.sources if s is not source} | set(command.inputs)
    drop |= {at - 1 for at in command.inputs if at in command.values}
    drop |= {
        at
        for at in range(len(command.arguments))
        if at in command.values and command.arguments[at - 1] == "-o"
    }
    remaining = [
        word
        for at, word in enumerate(command.arguments)
        if at not in drop
        and word not in ("-c", "-o", "-shared", "-rdynamic", "-s")
        and not (word.startswith("-o") and command.output and word == f"-o{command.output}")
    ]
    return (*remaining, *_dependency_words(command, source), "-c")


def _dependency_words(command: Command, source: Source) -> list[str]:
    """Return options for dependency files, which a compiler that also links would name by the program."""
    if command.mode is Mode.COMPILE or not {"-MD", "-MMD"}.intersection(command.arguments):
        return []
    beside = command.output or f"{stem(source.path)}.o"
    options = [] if command.option("-MF") else ["-MF", f"{os.path.splitext(beside)[0]}.d"]
    has_target = command.option("-MT") or command.option("-MQ")
    return options if has_target else [*options, "-MT", beside]


def compile_source(
    driver: Driver,
    build_options: BuildOptions,
    command: Command,
    source: Source,
    output: str,
    stdin: bytes | None = None,
) -> Compiled:
    """Compile all variants of a source and join them in ``output``."""
    with Scratch() as scratch:
        return _compile(task_of(driver, build_options, command, source, output, scratch), stdin)


def task_of(
    driver: Driver, build_options: BuildOptions, command: Command, source: Source, output: str, scratch: str
) -> Task:
    """Return the compilation of a source; only the compiler is queried."""
    arguments = words_for(command, source)
    if command.mode is not Mode.COMPILE and {*_FILES_BESIDE}.intersection(arguments):
        arguments = _named_beside(arguments, command, source, driver)
    if not source.dialect or not build_options.targets:
        return Task(driver, build_options, command, source, arguments, output, scratch, ())
    targets = tuple(
        driver.target(name, build_options.no_fma) for name in (build_options.baseline, *build_options.targets)
    )
    return Task(driver, build_options, command, source, arguments, output, scratch, targets)


def steps(task: Task) -> list[Step]:
    """Return the compilations, the baseline's first.

    The baseline goes where the object was asked for, so that files that compilers write next to an object
    (dependencies, ``-save-temps``, split debug information) keeps its name and directory.
    """
    if not task.targets:
        return [Step((*task.driver.command, *task.arguments, "-o", task.output), task.output)]
    base, *variants = task.targets
    result = [_step(task, base, task.arguments, task.output)]
    return result + [_step(task, t, _variant_words(task, t), f"{task.scratch}/{t.name}.o") for t in variants]


def _step(task: Task, target: Target, arguments: Sequence[str], output: str) -> Step:
    extra = task.driver.family.flag_list("vectorisation") if task.build_options.explain_vectorisation else ()
    argv = (*task.driver.command, *arguments, *target.flags, *extra, *_seed(task), "-o", output)
    flags = recorded_flags(task.arguments, target)
    is_baseline = target is task.targets[0]
    origin = Origin(target.name, task.driver.identity.label, flags, target.needs, is_baseline)
    return Step(argv, output, SECTION_PREFIX + target.name, describe(origin))


def directories(task: Task) -> list[str]:
    """Return subdirectories of the scratch directory, which hold the Fortran modules of variants."""
    return [t.name for t in task.targets[1:]] if task.source.dialect == "fortran" else []


def baseline_alone(task: Task) -> bool:
    """Check whether the baseline is compiled first: variants read the Fortran modules it writes."""
    return task.source.dialect == "fortran"


def _compile(task: Task, stdin: bytes | None) -> Compiled:
    todo, run = steps(task), task.driver.toolchain.run_all
    for name in directories(task):
        os.mkdir(f"{task.scratch}/{name}")
    argvs = [step.argv for step in todo]
    plain = b""

    def hold(baseline: Finished) -> None:
        nonlocal plain
        plain = _take_object(task.output) if baseline.status == 0 and task.targets else b""

    results = run(argvs[:1] if baseline_alone(task) else argvs, stdin=stdin, after_first=hold)
    if baseline_alone(task) and results[0].status == 0:
        results += run(argvs[1:], stdin=stdin)
    messages = _all_words(results[0])
    if results[0].status != 0 and task.build_options.feature_words and task.targets:
        return _as_written(task, stdin)
    if results[0].status != 0 or not task.targets:
        return Compiled(results[0].status, messages)
    for target, result in zip(task.targets, results, strict=True):
        if result.status != 0:
            message = f"{messages}mpiric: the variant {target.name} does not compile:\n{result.errors}"
            return Compiled(result.status, message)
    sentences = _join(task, todo, plain) if plain else ()
    if task.build_options.explain_vectorisation:
        # The compiler's messages about vectorised loops, per variant.
        lines: list[str] = []
        for target, result in zip(task.targets, results, strict=True):
            vectorised = [line for line in _all_words(result).splitlines() if "vectoriz" in line.lower()]
            lines.append(f"mpiric: {target.name}: {len(vectorised)} loops and blocks vectorised")
            lines.extend(f"  {line}" for line in vectorised)
        messages += "\n".join(lines) + "\n"
    return Compiled(0, messages, sentences)


def _take_object(path: str) -> bytes:
    """Remove and return the baseline's object, so that a killed build leaves no incomplete object."""
    if not os.path.isfile(path):
        return b""
    plain = _bytes(path)
    if not os.path.islink(path):
        os.unlink(path)
    return plain


def _variant_words(task: Task, target: Target) -> list[str]:
    plain = parse_compiler_command(task.arguments)
    arguments = without(plain, (*_DEPENDENCY_FLAGS, *_FILES_BESIDE), _DEPENDENCY_VALUES)
    arguments += _debug_words(task.arguments)
    if task.source.dialect != "fortran":
        return arguments
    family = task.driver.family
    modules = f"{task.scratch}/{target.name}"
    where = plain.option(family.module_output)
    arguments = without(parse_compiler_command(arguments), (), (family.module_output,))
    separate = family.facts.get("module_output_separate")
    arguments += [family.module_output, modules] if separate else [f"{family.module_output}{modules}"]
    return [*arguments, f"-I{where}"] if where else arguments


def _debug_words(arguments: Sequence[str]) -> list[str]:
    """Return options that turn split debug information into ordinary one, which a variant contains."""
    is_asked = any(word.startswith("-g") and word != _SPLIT for word in arguments)
    return ["-g"] if _SPLIT in arguments and not is_asked else []


def _named_beside(
    arguments: tuple[str, ...], command: Command, source: Source, driver: Driver
) -> tuple[str, ...]:
    """Rename files next to an object that is linked at once to GCC's names.

    Other compilers cannot name them, and would write into the scratch directory.
    """
    if driver.identity.family != "gcc":
        return (*without(parse_compiler_command(arguments), _FILES_BESIDE, ()), *_debug_words(arguments))
    name, ending = os.path.basename(source.path), os.path.splitext(source.path)[1]
    return (*arguments, "-dumpdir", f"{command.output or 'a'}-", "-dumpbase", name, "-dumpbase-ext", ending)


def _seed(task: Task) -> list[str]:
    """Return a seed for the section names of GCC's link-time optimisation, which are random otherwise."""
    lto = any(word.startswith("-flto") for word in task.arguments)
    seeded = any(word.startswith("-frandom-seed") for word in task.arguments)
    if task.driver.identity.family != "gcc" or seeded or not lto:
        return []
    return [f"-frandom-seed={task.source.path}:{task.command.output}"]


def _as_written(task: Task, stdin: bytes | None) -> Compiled:
    """Compile a file that needs the CPU options, with its own checks, equally for every variant."""
    arguments = [*task.arguments, *task.build_options.feature_words]
    done = task.driver.toolchain.run([*task.driver.command, *arguments, "-o", task.output], stdin=stdin)
    named = " ".join(task.build_options.feature_words)
    sentence = f"{task.source.path} compiles only with {named}: it is built as written for every variant"
    return Compiled(done.status, _all_words(done), (sentence,) if done.status == 0 else ())


def _join(task: Task, done: Sequence[Step], plain: bytes) -> tuple[str, ...]:
    """Write the fat object; an object that cannot contain variants is written as the baseline."""
    if not is_elf(plain) or ElfFile(plain).kind != RELOCATABLE:
        _write(task.output, plain)
        return ()
    if any(symbol.kind == STT_IFUNC for symbol in ElfFile(plain).symbols):
        _write(task.output, plain)
        return (
            f"{task.source.path} has functions that choose themselves at start (target_clones or ifunc): "
            "the same in every variant, for their choice must not run code of a variant",
        )
    editor = ObjectEditor(ElfFile(plain))
    for step in done:
        data = _bytes(step.output) if step.output != task.output else b""
        editor.add_section(step.section, pack(step.description, data), SHF_EXCLUDE)
    _write(task.output, editor.finish())
    return ()


def recorded_flags(arguments: Sequence[str], target: Target) -> str:
    """Return the flags worth recording: without files, directories and macros, so that files share them."""
    command = parse_compiler_command(arguments)
    files = {source.position for source in command.sources}
    remaining = [
        word
        for at, word in enumerate(arguments)
        if at not in files and at not in command.values and word not in _FORGET and not word.startswith(_DULL)
    ]
    return " ".join([*(w for w in remaining if w not in ("-x", "-module")), *target.flags])


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _write(path: str, data: bytes) -> None:
    """Write a complete object, or none if the disk is full."""
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        with suppress(OSError):
            os.unlink(path)
        raise OSError(error.errno, error.strerror, path) from None


def _all_words(done: Finished) -> str:
    return done.printed + done.errors
