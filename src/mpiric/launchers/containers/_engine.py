"""Engine: identity of a container program, and pure functions."""

from collections.abc import Callable, Mapping

from mpiric.launchers._words import words
from mpiric.model.dataclass import dataclass

Words = tuple[str, ...]


@dataclass(frozen=True)
class Engine:
    """Syntax of an engine's command line, and the way in which variables are passed inside.

    The functions get the arguments up to and including the image and, if the engine has one, the ``--`` after
    it. ``inject`` returns the new arguments and the variables that must be in the environment of the engine.
    ``bind`` makes a path of the host visible inside, ``ro`` or ``rw``, and returns the new arguments and the
    path inside.
    """

    name: str
    programs: Words  # file names of the engine
    verbs: Words  # first arguments of commands that run something; empty if it has no verbs
    valued: Words  # options with a value in the next argument; others have none or use --name=value
    inject: Callable[[Words, Mapping[str, str]], tuple[Words, Mapping[str, str]]]
    bind: Callable[[Words, str, str], tuple[Words, str]]
    set_by: Words  # spellings of the option that sets a variable inside
    separator: bool = False  # True if "--" separates image and program
    mount_points: Words = ()  # directories that an image must have as targets of `bind`

    def own_variables(self, arguments: Words) -> Mapping[str, str]:
        """Return the variables that the user's options set inside."""
        return {variable: value for _, _, variable, value in self._settings(arguments)}

    def withdraw(self, arguments: Words, name: str) -> Words:
        """Return the arguments without the user's setting of a variable."""
        for at, length, variable, _ in reversed(self._settings(arguments)):
            if variable == name:
                arguments = (*arguments[:at], *arguments[at + length :])
        return arguments

    def _settings(self, arguments: Words) -> list[tuple[int, int, str, str]]:
        """Return position, length, name and value of each ``--env=NAME=VALUE``, also as two arguments."""
        settings = []
        for at, word in enumerate(arguments):
            option, equals, attached = word.partition("=")
            if word in self.set_by and word in self.valued and at + 1 < len(arguments):
                text, length = arguments[at + 1], 2
            elif equals and option in self.set_by:
                text, length = attached, 1
            else:
                continue
            name, _, value = text.partition("=")
            settings.append((at, length, name, value))
        return settings


def options_end(engine: Engine, arguments: Words) -> int:
    """Return the position of the image, or the number of arguments if there is none."""
    at = 1
    if engine.verbs:
        while at < len(arguments) and arguments[at] not in engine.verbs:
            at += 1
        at += 1
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "--":
        at += 2 if arguments[at] in engine.valued else 1
    return at


def inserted_before_image(engine: Engine, arguments: Words, more: Words) -> Words:
    """Return the arguments with options after the user's, so that they override them."""
    at = options_end(engine, arguments)
    return (*arguments[:at], *more, *arguments[at:])


def option_engine(
    name: str,
    programs: Words,
    verbs: Words,
    valued: Words,
    *,
    set_by: Words,
    bind_by: Callable[[Words, str, str], tuple[Words, str]],
    separator: bool = False,
    mount_points: Words = (),
) -> Engine:
    """Return an engine whose option ``--env=NAME=VALUE`` is spelled as in ``set_by``; the first is written.

    ``bind_by`` takes the arguments of the engine, a path and ``ro`` or ``rw``, and returns the options that
    bind the path and the path inside.
    """

    def inject(arguments: Words, variables: Mapping[str, str]) -> tuple[Words, Mapping[str, str]]:
        more = tuple(f"{set_by[0]}={variable}={value}" for variable, value in sorted(variables.items()))
        return inserted_before_image(engine, arguments, more), {}

    def bind(arguments: Words, path: str, mode: str) -> tuple[Words, str]:
        more, inside = bind_by(arguments, path, mode)
        return inserted_before_image(engine, arguments, more), inside

    engine = Engine(name, programs, verbs, valued, inject, bind, set_by, separator, mount_points)
    return engine


_VALUED = words("""-B --bind --app --apply-cgroups --blkio-weight --cpu-shares --cpus
    --cpuset-cpus --cpuset-mems --dns --docker-host --drop-caps --add-caps --env --env-file --fakeroot-uid
    --fusemount -H --home --hostname --memory --memory-reservation --memory-swap --mount --network
    --network-args -o --overlay --pem-path --pids-limit --pwd --cwd -S --scratch --security -W --workdir""")


def prefixed_engine(name: str, prefix: str) -> Engine:
    """Return an engine with the verbs ``exec``, for a command, and ``run``, for the image's run script."""

    def inject(arguments: Words, variables: Mapping[str, str]) -> tuple[Words, Mapping[str, str]]:
        return arguments, {prefix + variable: value for variable, value in variables.items()}

    def bind(arguments: Words, path: str, mode: str) -> tuple[Words, str]:
        return inserted_before_image(engine, arguments, ("--bind", f"{path}:{path}:{mode}")), path

    engine = Engine(name, (name,), ("exec", "run"), _VALUED, inject, bind, ("--env",))
    return engine
