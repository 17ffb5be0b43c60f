"""One source file → one fat object: the plain baseline object, carrying the other variants in itself."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from mpiric.build.command import Command, Mode, Source, stem, understand, without
from mpiric.build.driver import Driver, Target
from mpiric.build.edit import ObjectEditor
from mpiric.build.elf import RELOCATABLE, SHF_EXCLUDE, STT_IFUNC, Elf, is_elf
from mpiric.build.payload import SECTION_PREFIX, Origin, Payload, pack
from mpiric.build.wishes import Wishes
from mpiric.host.toolchain import Finished, Scratch

_DEPENDENCY_FLAGS = ("-MD", "-MMD", "-MP", "-MG")
_SPLIT = "-gsplit-dwarf"
_FILES_BESIDE = (_SPLIT, "-save-temps", "-save-temps=obj", "-save-temps=cwd")
_DEPENDENCY_VALUES = ("-MF", "-MT", "-MQ")
_FORGET = frozenset({"-c", "-pipe"})


class Compiled(NamedTuple):
    """What came of one source file."""

    status: int
    words: str  # what the compiler said
    sentences: tuple[str, ...] = ()


class _Task(NamedTuple):
    driver: Driver
    wishes: Wishes
    source: Source
    words: tuple[str, ...]  # for this source alone, without -o
    output: str
    place: str  # scratch directory
    stdin: bytes | None


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
    words = words_for(command, source)
    if command.mode is not Mode.COMPILE and {*_FILES_BESIDE}.intersection(words):
        words = _named_beside(words, command, source, driver)
    if not source.dialect or not wishes.targets:
        done = driver.toolchain.run([*driver.command, *words, "-o", output], stdin=stdin)
        return Compiled(done.status, _all_words(done))
    with Scratch() as place:
        return _compile(_Task(driver, wishes, source, words, output, place, stdin))


def _compile(task: _Task) -> Compiled:
    wishes, driver = task.wishes, task.driver
    base = driver.target(wishes.baseline, wishes.no_fma)
    targets = [driver.target(name, wishes.no_fma) for name in wishes.targets]
    first = _line(task, base, is_baseline=True)
    rest = [_line(task, target) for target in targets]
    if task.source.dialect == "fortran":  # its module files must be there before a variant reads them
        results = driver.toolchain.run_all([first], stdin=task.stdin)
        results += driver.toolchain.run_all(rest, stdin=task.stdin) if results[0].status == 0 else []
    else:
        results = driver.toolchain.run_all([first, *rest], stdin=task.stdin)
    said = _all_words(results[0])
    if results[0].status != 0 and wishes.feature_words:
        return _as_written(task)
    if results[0].status != 0:
        return Compiled(results[0].status, said)
    for target, result in zip(targets, results[1:], strict=True):
        if result.status != 0:
            _forget(task.output)
            return Compiled(
                result.status, f"{said}mpiric: the variant {target.name} does not compile:\n{result.words}"
            )
    sentences = _join(task, base, targets)
    if wishes.explain_vectorisation:
        said += _explained([base, *targets], results)
    return Compiled(0, said, sentences)


def _line(task: _Task, target: Target, *, is_baseline: bool = False) -> list[str]:
    """What compiles one variant.

    The baseline goes where the object was asked for, so that what compilers write beside an object
    (dependencies, ``-save-temps``, split debug information) has the names and the place it has without us.
    """
    words: Sequence[str] = task.words
    if not is_baseline:
        words = _variant_words(task, target)
    extra = task.driver.family.words("vectorisation") if task.wishes.explain_vectorisation else ()
    made = task.output if is_baseline else _made(task, target)
    return [*task.driver.command, *words, *target.flags, *extra, *_seed(task), "-o", made]


def _variant_words(task: _Task, target: Target) -> list[str]:
    plain = understand(task.words)
    words = without(plain, (*_DEPENDENCY_FLAGS, *_FILES_BESIDE), _DEPENDENCY_VALUES)
    words += _debug_words(task.words)
    if task.source.dialect != "fortran":
        return words
    family = task.driver.family
    modules = f"{task.place}/modules-{target.name}"
    os.makedirs(modules, exist_ok=True)
    where = plain.option(family.module_output)
    words = without(understand(words), (), (family.module_output,))
    separate = family.facts.get("module_output_separate")
    words += [family.module_output, modules] if separate else [f"{family.module_output}{modules}"]
    return [*words, f"-I{where}"] if where else words


def _debug_words(words: Sequence[str]) -> list[str]:
    """A variant has its debug information in itself; asking for it apart is asking for it."""
    is_asked = any(word.startswith("-g") and word != _SPLIT for word in words)
    return ["-g"] if _SPLIT in words and not is_asked else []


def _named_beside(
    words: tuple[str, ...], command: Command, source: Source, driver: Driver
) -> tuple[str, ...]:
    """What is written beside an object that is to be linked at once gets the names that GCC gives then.

    Other compilers cannot be told a name, and would write into a directory that is soon gone.
    """
    if driver.identity.family != "gcc":
        return (*without(understand(words), _FILES_BESIDE, ()), *_debug_words(words))
    name, ending = os.path.basename(source.path), os.path.splitext(source.path)[1]
    return (*words, "-dumpdir", f"{command.output or 'a'}-", "-dumpbase", name, "-dumpbase-ext", ending)


def _seed(task: _Task) -> list[str]:
    """GCC names link-time sections by a random number, which would make every build different."""
    lto = any(word.startswith("-flto") for word in task.words)
    seeded = any(word.startswith("-frandom-seed") for word in task.words)
    if task.driver.identity.family != "gcc" or seeded or not lto:
        return []
    return [f"-frandom-seed={task.source.path}:{os.path.basename(task.output)}"]


def _made(task: _Task, target: Target) -> str:
    directory = f"{task.place}/{target.name}"
    os.makedirs(directory, exist_ok=True)
    return f"{directory}/{os.path.basename(task.output) or 'out.o'}"


def _as_written(task: _Task) -> Compiled:
    """Compile a file that needs the CPU words, its own checks around it: plain, for every variant alike."""
    words = [*task.words, *task.wishes.feature_words]
    done = task.driver.toolchain.run([*task.driver.command, *words, "-o", task.output], stdin=task.stdin)
    named = " ".join(task.wishes.feature_words)
    sentence = f"{task.source.path} only compiles with {named}: built as written, the same in every variant"
    return Compiled(done.status, _all_words(done), (sentence,) if done.status == 0 else ())


def _join(task: _Task, base: Target, targets: Sequence[Target]) -> tuple[str, ...]:
    """Write the fat object. An object of a kind we cannot carry variants in is written as the baseline."""
    plain = _bytes(task.output) if os.path.isfile(task.output) else b""
    sentences: tuple[str, ...] = ()
    if is_elf(plain) and Elf(plain).kind == RELOCATABLE:
        if any(symbol.kind == STT_IFUNC for symbol in Elf(plain).symbols):
            sentences = (
                f"{task.source.path} has functions that choose themselves at start (target_clones or ifunc): "
                "the same in every variant, for their choice must not run code of a variant",
            )
        else:
            with open(task.output, "wb") as file:
                file.write(_fat(task, plain, base, targets))
    return sentences


def _fat(task: _Task, plain: bytes, base: Target, targets: Sequence[Target]) -> bytes:
    editor = ObjectEditor(Elf(plain))
    for target in (base, *targets):
        is_baseline = target is base
        origin = Origin(
            target.name,
            task.driver.identity.label,
            recorded_flags(task.words, target),
            target.needs,
            is_baseline,
        )
        data = b"" if is_baseline else _bytes(_made(task, target))
        editor.add_section(SECTION_PREFIX + target.name, pack(Payload(origin, data)), SHF_EXCLUDE)
    return editor.finish()


def recorded_flags(words: Sequence[str], target: Target) -> str:
    """Flags worth telling: without files, directories and macros, so that files of a program share them."""
    command = understand(words)
    files = {source.position for source in command.sources}
    dull = (
        "-dump",
        "-I",
        "-D",
        "-U",
        "-M",
        "-J",
        "-W",
        "-i",
        "-L",
        "-B",
        "-fdebug-prefix-map",
        "-ffile-prefix-map",
    )
    kept = [
        word
        for at, word in enumerate(words)
        if at not in files and at not in command.values and word not in _FORGET and not word.startswith(dull)
    ]
    return " ".join([*(w for w in kept if w not in ("-x", "-module")), *target.flags])


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _forget(made: str) -> None:
    """Take back an object whose variants failed; never a device."""
    if os.path.isfile(made):
        os.unlink(made)


def _all_words(done: Finished) -> str:
    return done.stdout.decode(errors="replace") + done.words


def _explained(targets: Sequence[Target], results: Sequence[Finished]) -> str:
    """Per variant, the lines in which the compiler says that it vectorised something."""
    lines: list[str] = []
    for target, result in zip(targets, results, strict=True):
        found = [line for line in _all_words(result).splitlines() if "vectoriz" in line.lower()]
        lines.append(f"mpiric: {target.name}: {len(found)} loops and blocks vectorised")
        lines.extend(f"  {line}" for line in found)
    return "\n".join(lines) + "\n"
