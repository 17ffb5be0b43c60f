"""Scripted mapping engine: it answers with the order that a case specifies."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.recorded.world import World

from mpiric.host.host import Completed


def with_mapper(*slots: int) -> Any:
    """Return an action that makes the engine answer with these slots, one for each rank."""

    def act(world: World) -> None:
        program = world.place / "native/any/mpiric-mapper"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_bytes(b"")

        def answer(argv: Sequence[str], **_: Any) -> Completed:
            Path(argv[2]).write_text("".join(f"{slot}\n" for slot in slots))
            return Completed(
                0,
                '{"algorithm": "greedy", "proposals": {"given": 100.0, "greedy": 60.0}, "seconds": 0.1}\n',
                "",
            )

        world.answers["mpiric-mapper"] = answer

    return act
