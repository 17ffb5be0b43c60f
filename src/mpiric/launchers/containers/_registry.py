"""Registry of the engines, and recognition of the engine in a program line."""

from functools import cache
from importlib import import_module

from mpiric.launchers.containers._engine import Engine, Words, options_end
from mpiric.model.job import Container
from mpiric.model.registry import modules_of


@cache
def engines() -> dict[str, Engine]:
    """Return the engines by name, in alphabetical order."""
    modules = modules_of(import_module("mpiric.launchers.containers"))
    return {name: module.ENGINE for name, module in modules.items()}


def engine_of(program: Words) -> Engine | None:
    """Return the engine that a program line calls, judged by its first argument and verb."""
    if not program:
        return None
    stem = program[0].rsplit("/", 1)[-1]
    for engine in engines().values():
        if stem in engine.programs and (not engine.verbs or any(verb in program for verb in engine.verbs)):
            return engine
    return None


def split_container(program: Words) -> Container | None:
    """Return the container between launcher and program, None if there is none."""
    engine = engine_of(program)
    if engine is None:
        return None
    image = options_end(engine, program)
    end = image + 1
    if engine.separator and program[end : end + 1] == ("--",):
        end += 1
    if end >= len(program):
        return None
    return Container(engine.name, program[:end], program[image])
