"""Parsing of the arguments before the launcher and of its options, as the launcher itself reads them.

Variables, ``env``, and programs that run another program can precede the launcher.
"""

from collections.abc import Callable, Sequence
from re import fullmatch

from mpiric.launchers._dialect import Dialect, Option, words
from mpiric.model.amount import count_of
from mpiric.model.configuration import PARAMETER
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.job import LaunchOption, Meaning


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


def without_wrappers(program: Sequence[str]) -> tuple[str, ...]:
    """Return the argv of a program without ``env``, ``taskset`` and the like in front of it."""
    return tuple(program[prefix_length(program) :]) or tuple(program)


_BINDING_OPTIONS = {"taskset": "", "numactl": r"-[CN].*|--(physcpubind|cpunodebind)(=.*)?"}


def binding_wrapper(program: Sequence[str]) -> str:
    """Return the part of a program's argv that sets the CPUs of its process, "" if none: ``taskset -c 1``."""
    at = 0
    while at < len(program) and (step := _one_prefix(program, at)):
        wrapper = tuple(program[at : at + step])
        pattern = _BINDING_OPTIONS.get(wrapper[0].rsplit("/", 1)[-1])
        if pattern is not None and (not pattern or any(fullmatch(pattern, word) for word in wrapper)):
            return " ".join(wrapper)
        at += step
    return ""


def leading_assignments(arguments: Sequence[str]) -> int:
    """Return the number of leading assignments, which a shell would apply to the command."""
    return next((at for at, word in enumerate(arguments) if not is_assignment(word)), len(arguments))


def _one_prefix(arguments: Sequence[str], at: int) -> int:
    word = arguments[at]
    if is_assignment(word):
        return 1 if at == leading_assignments(arguments[: at + 1]) - 1 else 0
    name = word.rsplit("/", 1)[-1]
    if name == "env":
        end = at + 1
        while end < len(arguments) and (arguments[end].startswith("-") or is_assignment(arguments[end])):
            end += 2 if arguments[end] in _ENV_VALUED else 1
        return end - at
    wrapper = _WRAPPERS.get(name)
    return _wrapper_length(wrapper, arguments, at) if wrapper is not None else 0


def _wrapper_length(wrapper: Wrapper, arguments: Sequence[str], at: int) -> int:
    end = at + 1
    while end < len(arguments) and arguments[end].startswith("-") and arguments[end] != "--":
        end += 2 if arguments[end] in wrapper.valued else 1
    if end < len(arguments) and arguments[end] == "--":
        end += 1
    return end - at + wrapper.operands


IsProgram = Callable[[str], bool]


def parse_options(
    dialect: Dialect, arguments: Sequence[str], is_program: IsProgram
) -> tuple[tuple[LaunchOption, ...], int]:
    """Return the options in front of the program, and the number of arguments that they take.

    An option that the dialect does not declare is kept. The argument after it is taken as its value unless
    it is an option, a program or the last argument.
    """
    options: list[LaunchOption] = []
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "-":
        if arguments[at] == "--":
            return (*options, LaunchOption(("--",), Meaning.SEPARATOR)), at + 1
        option = _read(dialect, arguments, at) or _unknown(arguments, at, is_program)
        options.append(option)
        at += len(option.tokens)
    return tuple(options), at


def parse_option(dialect: Dialect, arguments: Sequence[str]) -> LaunchOption:
    """Return the single option that consists of all ``arguments``."""
    option = _read(dialect, arguments, 0)
    if option is None or len(option.tokens) != len(arguments):
        return LaunchOption(tuple(arguments))
    return option


def _read(dialect: Dialect, arguments: Sequence[str], at: int) -> LaunchOption | None:
    word = arguments[at]
    body = word.lstrip("-")
    dashes = len(word) - len(body)
    name, equals, attached = body.partition("=") if dialect.grammar.equals else (body, "", "")
    if dashes > 1 or dialect.grammar.long_after_one_dash or len(name) == 1:
        option = dialect.find(name)
        if option is not None and not (dashes == 1 and equals and not dialect.grammar.long_after_one_dash):
            return _take(dialect, option, arguments, at, attached if equals else None)
    return _read_shorts(dialect, body, arguments, at) if dashes == 1 else None


def _read_shorts(dialect: Dialect, body: str, arguments: Sequence[str], at: int) -> LaunchOption | None:
    """Parse ``-n4`` and ``-qv``: letters are flags, up to an option with a value."""
    for position, letter in enumerate(body):
        option = dialect.find(letter)
        last = position == len(body) - 1
        if option is None or (position > 0 and not dialect.grammar.flags_together):
            return None
        if option.arity or option.attached_only:
            if last:
                return _take(dialect, option, arguments, at, None)
            if not dialect.grammar.attached_values:
                return None
            return _take(dialect, option, arguments, at, body[position + 1 :])
    return LaunchOption((arguments[at],)) if len(body) > 1 else None


def _take(
    dialect: Dialect, option: Option, arguments: Sequence[str], at: int, attached: str | None
) -> LaunchOption:
    values = [] if attached is None else [attached]
    following = 0
    arity = 0 if option.attached_only else option.arity
    while len(values) < arity:
        if len(values) == 1 and arity == 2 and dialect.grammar.pair_in_one_word and "=" in values[0]:
            break
        following += 1
        if at + following >= len(arguments):
            raise MpiricError(
                f"option '{arguments[at]}' needs a value",
                hint=f"'{arguments[at]}' ends the command: write its value and the program after it",
            )
        values.append(arguments[at + following])
    tokens = tuple(arguments[at : at + following + 1])
    return LaunchOption(tokens, option.meaning, _values(option, arguments[at], tuple(values)))


def _values(option: Option, word: str, values: tuple[str, ...]) -> tuple[str, ...]:
    if option.implied:
        return (option.implied,)
    if option.meaning is Meaning.RANKS and not (count_of(values[0]) or PARAMETER.search(values[0])):
        raise MpiricError(
            f"the number of ranks in '{word} {values[0]}' must be a positive integer",
            hint="for example: -n 4",
        )
    if option.meaning is Meaning.ENVIRONMENT and "=" in values[0]:
        name, _, value = values[0].partition("=")
        return (name, value)
    return values


def _unknown(arguments: Sequence[str], at: int, is_program: IsProgram) -> LaunchOption:
    after = arguments[at + 1 : at + 3]
    takes_value = (
        "=" not in arguments[at]
        and len(after) == 2
        and after[1] != ":"
        and not after[0].startswith("-")
        and after[0] != ":"
        and not is_program(after[0])
    )
    return LaunchOption(tuple(arguments[at : at + 2]) if takes_value else (arguments[at],))
