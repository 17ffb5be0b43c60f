"""Engine: one container program, as identity plus pure functions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Words = tuple[str, ...]


@dataclass(frozen=True)
class Engine:
    """How one engine's command line is read and how variables are taken inside.

    Words given to the functions are those up to and including the image and, where the engine has
    one, the ``--`` after it. ``inject`` returns the words to use instead and the variables that must be
    in the engine's own environment; ``bind`` makes a path of the host visible inside, ``ro`` or ``rw``,
    and returns the words and the path it has there.
    """

    name: str
    programs: Words  # words it is called by
    verbs: Words  # its first word when it runs something, empty when it has none
    valued: Words  # options that take the next word; others take none or are written --name=value
    inject: Callable[[Words, Mapping[str, str]], tuple[Words, Mapping[str, str]]]
    bind: Callable[[Words, str, str], tuple[Words, str]]
    set_by: Words  # spellings of the option that sets a variable inside
    separator: bool = False  # "--" stands between image and program
    mount_points: Words = ()  # directories that an image has to have for what `bind` binds

    def own_variables(self, words: Words) -> Mapping[str, str]:
        """What the user's own options set inside."""
        return {variable: value for _, _, variable, value in self._settings(words)}

    def withdraw(self, words: Words, name: str) -> Words:
        """The words without the user's own setting of one variable."""
        for at, length, variable, _ in reversed(self._settings(words)):
            if variable == name:
                words = (*words[:at], *words[at + length :])
        return words

    def _settings(self, words: Words) -> list[tuple[int, int, str, str]]:
        """Position, length, name and value of every ``--env=NAME=VALUE``, in two words where it is valued."""
        found = []
        for at, word in enumerate(words):
            option, equals, attached = word.partition("=")
            if word in self.set_by and word in self.valued and at + 1 < len(words):
                text, length = words[at + 1], 2
            elif equals and option in self.set_by:
                text, length = attached, 1
            else:
                continue
            name, _, value = text.partition("=")
            found.append((at, length, name, value))
        return found


def options_end(engine: Engine, words: Words) -> int:
    """Position of the image, or the number of words when there is none."""
    at = 1
    if engine.verbs:
        while at < len(words) and words[at] not in engine.verbs:
            at += 1
        at += 1
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        at += 2 if words[at] in engine.valued else 1
    return at


def inserted_before_image(engine: Engine, words: Words, more: Words) -> Words:
    """The words with options added after the user's own, so that they win."""
    at = options_end(engine, words)
    return (*words[:at], *more, *words[at:])
