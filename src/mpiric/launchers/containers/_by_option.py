"""Engines that take variables inside by an option ``NAME=VALUE`` of their own."""

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
    """``set_by`` lists the spellings of the option; the first is written, as ``--env=NAME=VALUE``.

    ``bind_by`` gives, from the engine's words, a path and ``ro`` or ``rw``, the options that bind it and the
    path it has inside.
    """

    def inject(words: Words, variables: Mapping[str, str]) -> tuple[Words, Mapping[str, str]]:
        more = tuple(f"{set_by[0]}={variable}={value}" for variable, value in sorted(variables.items()))
        return inserted_before_image(engine, words, more), {}

    def bind(words: Words, path: str, mode: str) -> tuple[Words, str]:
        more, inside = bind_by(words, path, mode)
        return inserted_before_image(engine, words, more), inside

    engine = Engine(name, programs, verbs, valued, inject, bind, set_by, separator, mount_points)
    return engine
