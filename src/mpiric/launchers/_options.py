"""Reading a launcher's options, word by word, as its own parser does."""

from collections.abc import Callable, Sequence

from mpiric.launchers._dialect import Dialect, Option
from mpiric.model.count import count_of
from mpiric.model.errors import MpiricError
from mpiric.model.job import LaunchOption, Meaning

IsProgram = Callable[[str], bool]


def parse_options(
    dialect: Dialect, words: Sequence[str], is_program: IsProgram
) -> tuple[tuple[LaunchOption, ...], int]:
    """The options in front of the program, and how many words they take.

    An option the dialect does not know is kept; the word after it is taken for its value unless
    it is an option or a program itself, or the last word of all.
    """
    found: list[LaunchOption] = []
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            return (*found, LaunchOption(("--",), Meaning.SEPARATOR)), at + 1
        option = _read(dialect, words, at) or _unknown(words, at, is_program)
        found.append(option)
        at += len(option.tokens)
    return tuple(found), at


def parse_option(dialect: Dialect, words: Sequence[str]) -> LaunchOption:
    """The one option that ``words`` are, program words not expected."""
    option = _read(dialect, words, 0)
    if option is None or len(option.tokens) != len(words):
        return LaunchOption(tuple(words))
    return option


def _read(dialect: Dialect, words: Sequence[str], at: int) -> LaunchOption | None:
    word = words[at]
    body = word.lstrip("-")
    dashes = len(word) - len(body)
    name, equals, attached = body.partition("=") if dialect.grammar.equals else (body, "", "")
    if dashes > 1 or dialect.grammar.long_after_one_dash or len(name) == 1:
        option = dialect.find(name)
        if option is not None and not (dashes == 1 and equals and not dialect.grammar.long_after_one_dash):
            return _take(dialect, option, words, at, attached if equals else None)
    return _read_shorts(dialect, body, words, at) if dashes == 1 else None


def _read_shorts(dialect: Dialect, body: str, words: Sequence[str], at: int) -> LaunchOption | None:
    """``-n4`` and ``-qv``: every letter a flag, up to one that takes the rest or the next word."""
    for position, letter in enumerate(body):
        option = dialect.find(letter)
        last = position == len(body) - 1
        if option is None or (position > 0 and not dialect.grammar.flags_together):
            return None
        if option.arity or option.attached_only:
            if last:
                return _take(dialect, option, words, at, None)
            if not dialect.grammar.attached_values:
                return None
            return _take(dialect, option, words, at, body[position + 1 :])
    return LaunchOption((words[at],)) if len(body) > 1 else None


def _take(
    dialect: Dialect, option: Option, words: Sequence[str], at: int, attached: str | None
) -> LaunchOption:
    values = [] if attached is None else [attached]
    following = 0
    arity = 0 if option.attached_only else option.arity
    while len(values) < arity:
        if len(values) == 1 and arity == 2 and dialect.grammar.pair_in_one_word and "=" in values[0]:
            break
        following += 1
        if at + following >= len(words):
            raise MpiricError(
                f"'{words[at]}' needs a value",
                hint=f"'{words[at]}' is the last word of the command: give its value and the program",
            )
        values.append(words[at + following])
    tokens = tuple(words[at : at + following + 1])
    return LaunchOption(tokens, option.meaning, _values(option, words[at], tuple(values)))


def _values(option: Option, word: str, values: tuple[str, ...]) -> tuple[str, ...]:
    if option.implied:
        return (option.implied,)
    if option.meaning is Meaning.RANKS and not count_of(values[0]):
        raise MpiricError(
            f"'{word} {values[0]}' is not a number of ranks", hint="write a whole number, such as -n 4"
        )
    if option.meaning is Meaning.ENVIRONMENT and "=" in values[0]:
        name, _, value = values[0].partition("=")
        return (name, value)
    return values


def _unknown(words: Sequence[str], at: int, is_program: IsProgram) -> LaunchOption:
    after = words[at + 1 : at + 3]
    takes = (
        "=" not in words[at]
        and len(after) == 2
        and after[1] != ":"
        and not after[0].startswith("-")
        and after[0] != ":"
        and not is_program(after[0])
    )
    return LaunchOption(tuple(words[at : at + 2]) if takes else (words[at],))
