"""Options of a build: mpiric's own options, and CPU options among the compiler's.

A CPU option of the compiler would apply to all variants including the baseline, so it is turned into a target
or removed, with a message.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mpiric.build.targets import BASELINE, canonical
from mpiric.model.errors import MpiricError

_VALUES = ("--targets", "--compiler")
_SWITCHES = ("--no-fma", "--explain-vectorisation")
OWN_WORDS = (*_VALUES, *_SWITCHES)
_NATIVE = {"native", "host", "Host", "HOST"}
# Compiled by `re` at the first word that may match: most command lines have none.
_FEATURE = (
    r"-m(?!no-)(sse|ssse|avx|fma|bmi|f16c|popcnt|lzcnt|abm|aes|pclmul|adx|movbe|rdrnd|rdseed|sha|vaes|vpclmul|gfni"
    r"|xop|tbm|amx|cx16|sahf|xsave|fsgsbase|prfchw|clflushopt|clwb|3dnow)[\w.=-]*$"
)
_FOR_CPU = r"-x(Host|HOST|host|[A-Z]+[-A-Z0-9.]*\d|AVX|[A-Z]{3,}[-A-Z0-9.]+)$"
_INSTRUMENTED = ("-fprofile-arcs", "-fprofile-generate", "-ftest-coverage", "-fprofile-instr-generate")
_OTHER_WIDTH = {"-m32", "-mx32", "-m16"}


class BuildOptions(NamedTuple):
    """Options of a build, and the compiler's arguments without mpiric's options."""

    arguments: tuple[str, ...]
    targets: tuple[str, ...]  # targets except the baseline, in the user's order
    baseline: str
    feature_words: tuple[str, ...] = ()  # removed CPU options; restored for files that need them
    no_fma: bool = False
    explain_vectorisation: bool = False
    sentences: tuple[str, ...] = ()


class _Reading:
    """State of a pass over the arguments; ``name_of`` returns archspec's name of a target."""

    def __init__(self, machine: str, name_of: Callable[[str, str], str]) -> None:
        self.machine = machine
        self.name_of = name_of
        self.kept: list[str] = []
        self.features: list[str] = []
        self.folded: list[str] = []
        self.sentences: list[str] = []


def own_options(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Split the compiler's arguments into mpiric's options and the remaining arguments."""
    options: dict[str, str] = {}
    remaining: list[str] = []
    iterator = iter(arguments)
    for word in iterator:
        name, equals, value = word.partition("=")
        if name in _VALUES:
            options[name] = value if equals else next(iterator, "")
        elif word in _SWITCHES:
            options[word] = "1"
        else:
            remaining.append(word)
    return options, remaining


def split_targets(text: str) -> list[str]:
    """Split a list of targets."""
    return text.replace(",", " ").split()


def read(
    arguments: Sequence[str],
    targets: Sequence[str],
    machine: str,
    name_of: Callable[[str, str], str] = canonical,
) -> BuildOptions:
    """Turn CPU options of any compiler into ``targets``; ``name_of`` may be a cached `canonical`."""
    baseline = BASELINE[machine]
    reading = _Reading(machine, name_of)
    skip = False
    for at, word in enumerate(arguments):
        if skip:
            skip = False
            continue
        following = arguments[at + 1] if at + 1 < len(arguments) else ""
        skip = _read_word(word, following, reading)
    chosen = [name_of(word, machine) for word in targets]
    instruments = (w for w in reading.kept if w == "--coverage" or w.startswith(_INSTRUMENTED))
    instrumented = next(instruments, "")
    if instrumented:
        reading.sentences.append(f"{instrumented} instruments the program, so only the baseline is built")
    if instrumented or _OTHER_WIDTH.intersection(reading.kept):
        chosen, reading.folded = [], []
    unique = tuple(dict.fromkeys(t for t in [*chosen, *reading.folded] if t != baseline))
    sentences = tuple(dict.fromkeys(reading.sentences))
    return BuildOptions(tuple(reading.kept), unique, baseline, tuple(reading.features), sentences=sentences)


def _read_word(word: str, following: str, reading: _Reading) -> bool:
    """Process one word; return True if the next one is its value."""
    if word in ("-tp", "-ta") and following:
        if word == "-tp":
            _fold(f"{word} {following}", following.split(","), reading)
        else:
            reading.kept.extend((word, following))
        return True
    for start in ("-march=", "-mcpu=", "-tp=", "-ax"):
        if word.startswith(start):
            _fold(word, word[len(start) :].split(","), reading)
            return False
    if word.startswith("-x") and re.match(_FOR_CPU, word):
        _fold(word, [word[2:]], reading)
    elif word in ("-mtune=native", "-fast"):
        instead = "; -O3 is used instead" if word == "-fast" else ""
        reading.sentences.append(f"{word} is ignored: it selects the CPU of this machine{instead}")
        reading.kept.extend(["-O3"] if word == "-fast" else [])
    elif word.startswith("-msve-vector-bits=") and not word.endswith("=scalable"):
        reading.sentences.append(
            f"{word} is ignored: results would be wrong on a CPU with another vector length"
        )
    elif word.startswith("-m") and re.match(_FEATURE, word):
        reading.features.append(word)
        reading.sentences.append(f"{word} is ignored: each variant has the features of its target")
    else:
        reading.kept.append(word)
    return False


def _fold(word: str, names: Sequence[str], reading: _Reading) -> None:
    if any(name in _NATIVE for name in names):
        reading.sentences.append(f"{word} is ignored: the targets select the CPUs of the program")
        return
    names = [name.partition("+")[0] for name in names]  # features after + are dropped: -march=armv8.2-a+sve
    try:
        targets = [reading.name_of(name, reading.machine) for name in names]
    except MpiricError as error:
        raise MpiricError(f"{word}: {error.message}", hint=error.hint) from None
    new = [target for target in targets if target != BASELINE[reading.machine]]
    reading.folded.extend(new)
    if new:
        reading.sentences.append(f"{word} becomes an additional target: {', '.join(new)}")


def without_intermediate(build_options: BuildOptions, flags: Sequence[str]) -> BuildOptions:
    """Return the arguments without ``flags``, which make a compiler write intermediate code."""
    removed = [word for word in build_options.arguments if word.partition("=")[0] in flags]
    if not removed or not build_options.targets:
        return build_options
    sentence = (
        f"{removed[0]} is left out: this compiler's intermediate code cannot carry variants (GCC's can); "
        "each variant is optimised file by file"
    )
    arguments = tuple(word for word in build_options.arguments if word not in removed)
    return build_options._replace(arguments=arguments, sentences=(*build_options.sentences, sentence))


def from_environment(
    build_options: BuildOptions, options: Mapping[str, str], environ: Mapping[str, str]
) -> BuildOptions:
    """Return the build_options with options from environment variables."""
    return build_options._replace(
        no_fma="--no-fma" in options or environ.get("MPIRIC_NO_FMA", "0") not in ("", "0"),
        explain_vectorisation="--explain-vectorisation" in options
        or environ.get("MPIRIC_EXPLAIN_VECTORISATION", "0") not in ("", "0"),
    )
