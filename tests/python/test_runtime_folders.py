"""Every folder of the runtime has its line in rooms.cmake, and includes nothing that it may not use."""

import re
from pathlib import Path

from tools.generate import runtime_folders

RUNTIME = runtime_folders.SOURCE.parent
ROOMS = {
    name: uses.split()
    for name, _, uses, _ in runtime_folders._ROOM.findall(runtime_folders.SOURCE.read_text())
}


def room_of(path: Path) -> str:
    """The room that a source or a header is in."""
    name = path.relative_to(RUNTIME).as_posix()
    return max((room for room in ROOMS if name.startswith(f"{room}/")), key=len)


def reachable(room: str) -> set[str]:
    """The room, and all that it uses, directly or not."""
    return {room}.union(*(reachable(used) for used in ROOMS[room]))


def test_each_folder_is_a_room():
    assert {path.name for path in RUNTIME.iterdir() if path.is_dir()} == {
        room for room in ROOMS if "/" not in room
    }


def test_includes_follow_the_declared_dependencies():
    for path in RUNTIME.rglob("*.[ch]pp"):
        for included in re.findall(r'#include "((?:\w+/)+)[\w.]+"', path.read_text()):
            target = included.rstrip("/")
            room = max((room for room in ROOMS if f"{target}/".startswith(f"{room}/")), key=len, default=None)
            assert room in reachable(room_of(path)), f"{path}: {included}"


def test_the_page_shows_every_room():
    page = runtime_folders.render()
    assert all(f"| `{room}` |" in page for room in ROOMS)
