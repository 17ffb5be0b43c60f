"""Words in front of the launcher: variables, ``env``, and programs that only run another program."""

from collections.abc import Sequence
from dataclasses import dataclass
from re import fullmatch

from mpiric.launchers._words import words


@dataclass(frozen=True)
class Wrapper:
    """A program that runs the command after its own words."""

    valued: tuple[str, ...] = ()  # options that take the next word
    operands: int = 0  # words of its own before the command


_WRAPPERS = {
    "time": Wrapper(("-f", "--format", "-o", "--output")),
    "nice": Wrapper(("-n", "--adjustment")),
    "ionice": Wrapper(("-c", "--class", "-n", "--classdata")),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "exec": Wrapper(),
    "command": Wrapper(),
    "timeout": Wrapper(("-k", "--kill-after", "-s", "--signal"), operands=1),
    "stdbuf": Wrapper(("-i", "-o", "-e", "--input", "--output", "--error")),
    "taskset": Wrapper(operands=1),
    "chrt": Wrapper(("-T", "-P", "-D"), operands=1),
    "numactl": Wrapper(
        words(
            """-i -N -C -m -p -P -w --interleave --cpunodebind --physcpubind --membind --preferred
            --preferred-many --weighted-interleave"""
        )
    ),
    "catchsegv": Wrapper(),
    "unbuffer": Wrapper(),
}
_ENV_VALUED = ("-u", "--unset", "-C", "--chdir")


def is_assignment(word: str) -> bool:
    """Whether a shell would read it as ``NAME=value``."""
    return fullmatch(r"[A-Za-z_][A-Za-z0-9_]*=.*", word, 16) is not None  # 16: re.DOTALL


def prefix_length(words: Sequence[str]) -> int:
    """How many words stand before the command proper."""
    at = 0
    while at < len(words):
        step = _one_prefix(words, at)
        if step == 0:
            break
        at += step
    return at


def leading_assignments(words: Sequence[str]) -> int:
    """How many of the first words only set variables, as a shell would do before running the rest."""
    return next((at for at, word in enumerate(words) if not is_assignment(word)), len(words))


def _one_prefix(words: Sequence[str], at: int) -> int:
    word = words[at]
    if is_assignment(word):
        return 1 if at == leading_assignments(words[: at + 1]) - 1 else 0
    name = word.rsplit("/", 1)[-1]
    if name == "env":
        return _env_length(words, at)
    wrapper = _WRAPPERS.get(name)
    return _wrapper_length(wrapper, words, at) if wrapper is not None else 0


def _env_length(words: Sequence[str], at: int) -> int:
    end = at + 1
    while end < len(words) and (words[end].startswith("-") or is_assignment(words[end])):
        end += 2 if words[end] in _ENV_VALUED else 1
    return end - at


def _wrapper_length(wrapper: Wrapper, words: Sequence[str], at: int) -> int:
    end = at + 1
    while end < len(words) and words[end].startswith("-") and words[end] != "--":
        end += 2 if words[end] in wrapper.valued else 1
    if end < len(words) and words[end] == "--":
        end += 1
    return end - at + wrapper.operands
