"""Arguments in front of the launcher: variables, ``env``, and programs that run another program."""

from collections.abc import Sequence
from re import fullmatch

from mpiric.launchers._words import words
from mpiric.model.dataclass import dataclass


@dataclass(frozen=True)
class Wrapper:
    """A program that runs the command after its own arguments."""

    valued: tuple[str, ...] = ()  # options with a value in the next argument
    operands: int = 0  # number of operands before the command


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
    """Return whether a shell would read an argument as ``NAME=value``."""
    return fullmatch(r"[A-Za-z_][A-Za-z0-9_]*=.*", word, 16) is not None  # 16: re.DOTALL


def prefix_length(arguments: Sequence[str]) -> int:
    """Return the number of arguments before the command itself."""
    at = 0
    while at < len(arguments):
        step = _one_prefix(arguments, at)
        if step == 0:
            break
        at += step
    return at


def leading_assignments(arguments: Sequence[str]) -> int:
    """Return the number of leading assignments, which a shell would apply to the command."""
    return next((at for at, word in enumerate(arguments) if not is_assignment(word)), len(arguments))


def _one_prefix(arguments: Sequence[str], at: int) -> int:
    word = arguments[at]
    if is_assignment(word):
        return 1 if at == leading_assignments(arguments[: at + 1]) - 1 else 0
    name = word.rsplit("/", 1)[-1]
    if name == "env":
        return _env_length(arguments, at)
    wrapper = _WRAPPERS.get(name)
    return _wrapper_length(wrapper, arguments, at) if wrapper is not None else 0


def _env_length(arguments: Sequence[str], at: int) -> int:
    end = at + 1
    while end < len(arguments) and (arguments[end].startswith("-") or is_assignment(arguments[end])):
        end += 2 if arguments[end] in _ENV_VALUED else 1
    return end - at


def _wrapper_length(wrapper: Wrapper, arguments: Sequence[str], at: int) -> int:
    end = at + 1
    while end < len(arguments) and arguments[end].startswith("-") and arguments[end] != "--":
        end += 2 if arguments[end] in wrapper.valued else 1
    if end < len(arguments) and arguments[end] == "--":
        end += 1
    return end - at + wrapper.operands
