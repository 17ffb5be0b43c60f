"""Engines that set variables inside by an option ``NAME=VALUE``."""

from collections.abc import Callable, Mapping

from mpiric.launchers.containers._engine import Engine, Words, inserted_before_image


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
