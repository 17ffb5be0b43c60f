"""One source file → one fat object: the plain baseline object, carrying the other variants in itself."""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from mpiric.build.command import Command, Mode, Source, parse_compiler_command, stem, without
from mpiric.build.driver import Driver, Target
from mpiric.build.edit import ObjectEditor
from mpiric.build.elf import RELOCATABLE, SHF_EXCLUDE, STT_IFUNC, ElfFile, is_elf
from mpiric.build.payload import SECTION_PREFIX, Origin, describe, pack
from mpiric.build.plan import Step
from mpiric.build.wishes import Wishes
from mpiric.host.toolchain import Finished, Scratch

_DEPENDENCY_FLAGS = ("-MD", "-MMD", "-MP", "-MG")
_SPLIT = "-gsplit-dwarf"
_FILES_BESIDE = (_SPLIT, "-save-temps", "-save-temps=obj", "-save-temps=cwd")
_DEPENDENCY_VALUES = ("-MF", "-MT", "-MQ")
_FORGET = frozenset({"-c", "-pipe"})
_DULL = (  # beginnings of words that say nothing of how code is made
    "-dump", "-I", "-D", "-U", "-M", "-J", "-W", "-i", "-L", "-B", "-fdebug-prefix-map",
    "-ffile-prefix-map",
)  # fmt: skip


class Compiled(NamedTuple):
    """What came of one source file."""

    status: int
    words: str  # what the compiler said
    sentences: tuple[str, ...] = ()


class Task(NamedTuple):
    """One source to be compiled."""

    driver: Driver
    wishes: Wishes
    command: Command
    source: Source
    words: tuple[str, ...]  # for this source alone, without -o
    output: str
    scratch: str  # scratch directory
    targets: tuple[Target, ...]  # the baseline first; none where the object is to be as without us


def object_name(command: Command, source: Source) -> str:
    """Where the compiler puts the object of a source."""
    named = command.output if command.mode is Mode.COMPILE else ""
    return named or f"{stem(source.path)}.o"


def words_for(command: Command, source: Source) -> tuple[str, ...]:
    """The words that compile one source: no other source, no output, nothing for the linker."""
    drop = {s.position for s in command.sources if s is not source} | set(command.inputs)
    drop |= {at - 1 for at in command.inputs if at in command.values}
    drop |= {at for at in range(len(command.words)) if at in command.values and command.words[at - 1] == "-o"}
    kept = [
        word
        for at, word in enumerate(command.words)
        if at not in drop
        and word not in ("-c", "-o", "-shared", "-rdynamic", "-s")
        and not (word.startswith("-o") and command.output and word == f"-o{command.output}")
    ]
    return (*kept, *_dependency_words(command, source), "-c")


def _dependency_words(command: Command, source: Source) -> list[str]:
    """Where a compiler that is to link too writes what a source depends on, and how it calls what depends."""
    if command.mode is Mode.COMPILE or not {"-MD", "-MMD"}.intersection(command.words):
        return []
    beside = command.output or f"{stem(source.path)}.o"
    words = [] if command.option("-MF") else ["-MF", f"{os.path.splitext(beside)[0]}.d"]
    named = command.option("-MT") or command.option("-MQ")
    return words if named else [*words, "-MT", beside]


def compile_source(
    driver: Driver, wishes: Wishes, command: Command, source: Source, output: str, stdin: bytes | None = None
) -> Compiled:
    """Compile every variant of one source and join them in ``output``."""
    with Scratch() as scratch:
        return _compile(task_of(driver, wishes, command, source, output, scratch), stdin)


def task_of(
    driver: Driver, wishes: Wishes, command: Command, source: Source, output: str, scratch: str
) -> Task:
    """What is to be done for one source; nothing is read or started but what the compiler is asked."""
    words = words_for(command, source)
    if command.mode is not Mode.COMPILE and {*_FILES_BESIDE}.intersection(words):
        words = _named_beside(words, command, source, driver)
    if not source.dialect or not wishes.targets:
        return Task(driver, wishes, command, source, words, output, scratch, ())
    targets = tuple(driver.target(name, wishes.no_fma) for name in (wishes.baseline, *wishes.targets))
    return Task(driver, wishes, command, source, words, output, scratch, targets)


def steps(task: Task) -> list[Step]:
    """The compilations, the baseline's first.

    The baseline goes where the object was asked for, so that what compilers write beside an object
    (dependencies, ``-save-temps``, split debug information) keeps its name and directory.
    """
    if not task.targets:
        return [Step((*task.driver.command, *task.words, "-o", task.output), task.output)]
    base, *others = task.targets
    made = [_step(task, base, task.words, task.output)]
    return made + [_step(task, t, _variant_words(task, t), f"{task.scratch}/{t.name}.o") for t in others]


def _step(task: Task, target: Target, words: Sequence[str], made: str) -> Step:
    extra = task.driver.family.words("vectorisation") if task.wishes.explain_vectorisation else ()
    argv = (*task.driver.command, *words, *target.flags, *extra, *_seed(task), "-o", made)
    flags = recorded_flags(task.words, target)
    is_baseline = target is task.targets[0]
    origin = Origin(target.name, task.driver.identity.label, flags, target.needs, is_baseline)
    return Step(argv, made, SECTION_PREFIX + target.name, describe(origin))


def directories(task: Task) -> list[str]:
    """What has to be in the scratch directory: directories for the Fortran modules of variants."""
    return [t.name for t in task.targets[1:]] if task.source.dialect == "fortran" else []


def baseline_alone(task: Task) -> bool:
    """Whether the baseline comes before the variants: they read the Fortran modules it writes."""
    return task.source.dialect == "fortran"


def _compile(task: Task, stdin: bytes | None) -> Compiled:
    todo, run = steps(task), task.driver.toolchain.run_all
    for name in directories(task):
        os.mkdir(f"{task.scratch}/{name}")
    argvs = [step.argv for step in todo]
    plain = b""

    def hold(baseline: Finished) -> None:
        nonlocal plain
        plain = _taken(task.output) if baseline.status == 0 and task.targets else b""

    results = run(argvs[:1] if baseline_alone(task) else argvs, stdin=stdin, after_first=hold)
    if baseline_alone(task) and results[0].status == 0:
        results += run(argvs[1:], stdin=stdin)
    messages = _all_words(results[0])
    if results[0].status != 0 and task.wishes.feature_words and task.targets:
        return _as_written(task, stdin)
    if results[0].status != 0 or not task.targets:
        return Compiled(results[0].status, messages)
    for target, result in zip(task.targets, results, strict=True):
        if result.status != 0:
            words = f"{messages}mpiric: the variant {target.name} does not compile:\n{result.words}"
            return Compiled(result.status, words)
    sentences = _join(task, todo, plain) if plain else ()
    if task.wishes.explain_vectorisation:
        messages += _explained(task.targets, results)
    return Compiled(0, messages, sentences)


def _taken(path: str) -> bytes:
    """The baseline's object, which does not lie there until it is fat: a build that is killed leaves none."""
    if not os.path.isfile(path):
        return b""
    plain = _bytes(path)
    if not os.path.islink(path):
        os.unlink(path)
    return plain


def _variant_words(task: Task, target: Target) -> list[str]:
    plain = parse_compiler_command(task.words)
    words = without(plain, (*_DEPENDENCY_FLAGS, *_FILES_BESIDE), _DEPENDENCY_VALUES)
    words += _debug_words(task.words)
    if task.source.dialect != "fortran":
        return words
    family = task.driver.family
    modules = f"{task.scratch}/{target.name}"
    where = plain.option(family.module_output)
    words = without(parse_compiler_command(words), (), (family.module_output,))
    separate = family.facts.get("module_output_separate")
    words += [family.module_output, modules] if separate else [f"{family.module_output}{modules}"]
    return [*words, f"-I{where}"] if where else words


def _debug_words(words: Sequence[str]) -> list[str]:
    """The words with split debug information turned into ordinary: a variant holds its own."""
    is_asked = any(word.startswith("-g") and word != _SPLIT for word in words)
    return ["-g"] if _SPLIT in words and not is_asked else []


def _named_beside(
    words: tuple[str, ...], command: Command, source: Source, driver: Driver
) -> tuple[str, ...]:
    """Rename what is written beside an object that is linked at once to the names that GCC gives then.

    Other compilers cannot be told a name, and would write into a directory that is soon gone.
    """
    if driver.identity.family != "gcc":
        return (*without(parse_compiler_command(words), _FILES_BESIDE, ()), *_debug_words(words))
    name, ending = os.path.basename(source.path), os.path.splitext(source.path)[1]
    return (*words, "-dumpdir", f"{command.output or 'a'}-", "-dumpbase", name, "-dumpbase-ext", ending)


def _seed(task: Task) -> list[str]:
    """A seed for GCC's link-time section names, which a random number would make differ in every build."""
    lto = any(word.startswith("-flto") for word in task.words)
    seeded = any(word.startswith("-frandom-seed") for word in task.words)
    if task.driver.identity.family != "gcc" or seeded or not lto:
        return []
    return [f"-frandom-seed={task.source.path}:{task.command.output}"]


def _as_written(task: Task, stdin: bytes | None) -> Compiled:
    """Compile a file that needs the CPU words, its own checks around it: plain, for every variant alike."""
    words = [*task.words, *task.wishes.feature_words]
    done = task.driver.toolchain.run([*task.driver.command, *words, "-o", task.output], stdin=stdin)
    named = " ".join(task.wishes.feature_words)
    sentence = f"{task.source.path} only compiles with {named}: built as written, the same in every variant"
    return Compiled(done.status, _all_words(done), (sentence,) if done.status == 0 else ())


def _join(task: Task, done: Sequence[Step], plain: bytes) -> tuple[str, ...]:
    """Write the fat object. An object of a kind we cannot carry variants in is written as the baseline."""
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
        data = _bytes(step.made) if step.made != task.output else b""
        editor.add_section(step.section, pack(step.description, data), SHF_EXCLUDE)
    _write(task.output, editor.finish())
    return ()


def recorded_flags(words: Sequence[str], target: Target) -> str:
    """Flags worth telling: without files, directories and macros, so that files of a program share them."""
    command = parse_compiler_command(words)
    files = {source.position for source in command.sources}
    kept = [
        word
        for at, word in enumerate(words)
        if at not in files and at not in command.values and word not in _FORGET and not word.startswith(_DULL)
    ]
    return " ".join([*(w for w in kept if w not in ("-x", "-module")), *target.flags])


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _write(path: str, data: bytes) -> None:
    """Write an object whole; on a full disk, none."""
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        with suppress(OSError):
            os.unlink(path)
        raise OSError(error.errno, error.strerror, path) from None


def _all_words(done: Finished) -> str:
    return done.printed + done.words


def _explained(targets: Sequence[Target], results: Sequence[Finished]) -> str:
    """Per variant, the lines in which the compiler says that it vectorised something."""
    lines: list[str] = []
    for target, result in zip(targets, results, strict=True):
        found = [line for line in _all_words(result).splitlines() if "vectoriz" in line.lower()]
        lines.append(f"mpiric: {target.name}: {len(found)} loops and blocks vectorised")
        lines.extend(f"  {line}" for line in found)
    return "\n".join(lines) + "\n"
