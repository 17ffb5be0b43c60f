"""Recorded cases: actions in a scripted world. A family of cases is a table of them."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.recorded.canonical import Names, call_text, files_text, launches_text, log_text, recipe_text
from tests.recorded.program import PATH, Program
from tests.recorded.world import World, scripted

OPENMPI = f"mpirun.openmpi -n 2 {PATH}"

Action = str | Callable[[World], None]  # a command line of mpiric, or something that happens to its files


@dataclass(frozen=True)
class Case:
    """Row of a family: actions, with the program and the world in which they happen."""

    name: str
    actions: Sequence[Action]
    program: Mapping[str, Any] = field(default_factory=dict)  # fields of `Program`
    world: Mapping[str, Any] = field(default_factory=dict)  # fields of `World`


def tune(options: str = "", knobs: str = "binding,malloc,huge-pages", command: str = OPENMPI) -> str:
    """Return the command line of a tune that tries a few knobs regardless of the program's behaviour."""
    only = f"--only {knobs} --try-all " if knobs else ""
    return f"tune {only}{options} -- {command}"


def change(**fields: Any) -> Action:
    """Return an action that changes the behaviour of the program."""

    def act(world: World) -> None:
        for name, value in fields.items():
            assert hasattr(world.program, name)
            setattr(world.program, name, value)

    return act


def write(name: str, text: str) -> Action:
    """Return an action in which the user writes a file into the working directory."""

    def act(world: World) -> None:
        world.work.joinpath(name).write_text(text, encoding="utf-8")

    return act


def cut(events: int, torn: int = 0) -> Action:
    """Return an action that cuts the log after some events and ``torn`` bytes of the next one."""

    def act(world: World) -> None:
        path = logs(world.place)[-1]
        lines = path.read_bytes().splitlines(keepends=True)
        assert len(lines) > events, f"the log has {len(lines)} events"
        path.write_bytes(b"".join(lines[:events]) + lines[events][:torn])

    return act


def logs(place: Path) -> list[Path]:
    """Return all event logs of a world, the oldest first."""
    return sorted(place.glob("**/events.jsonl"))


def play(case: Case, place: Path) -> str:
    """Play a case in an empty directory and return its results in canonical form."""
    world = World(place, Program(**case.program), **case.world)
    parts = []
    with scripted(world):
        for action in case.actions:
            if isinstance(action, str):
                parts.append(world.mpiric(*shlex.split(action)))
            else:
                action(world)
    names = Names(place, logs(place))
    recipes = sorted(path for path in place.glob("**/*.toml") if "native" not in path.parts)
    return "".join(
        [
            *(call_text(answer, names) for answer in parts),
            launches_text(world.program.launches, names),
            *(log_text(path, names) for path in logs(place)),
            *(recipe_text(path, names) for path in recipes),
            files_text(place, names),
        ]
    )
