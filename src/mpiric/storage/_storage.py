"""What every file of this folder declares of its file system, and the registry of them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import mpiric.storage
from mpiric.host.host import Host
from mpiric.model.registry import modules_of
from mpiric.model.storage import FileLayout, Mount, StorageFacts

Commands = tuple[tuple[str, ...], ...]
QUESTION_S = 5.0  # a client whose servers are away answers nothing at all


@dataclass(frozen=True)
class Storage:
    """One kind of file system: identity and pure functions. ``read`` asks the host passed in.

    ``check`` gives a sentence on what is wrong with a layout, "" when nothing is. ``render`` gives the
    commands that set it on a directory for files made there later; None where there is no layout to set.
    """

    title: str  # as its makers write it
    types: tuple[str, ...]  # in the mount table, without "fuse."; none: recognised after all others
    magics: tuple[int, ...] = ()  # f_type of statfs(2)
    sources: tuple[str, ...] = ()  # beginnings of the source of a FUSE mount that names no type
    is_network: bool = True
    drivers: tuple[str, ...] = ()  # of MPI libraries, made for it; "ufs" serves any
    read: Callable[[Host, Mount, str], StorageFacts] = lambda _host, _mount, _path: StorageFacts()
    layout: Callable[[Host, str], FileLayout | None] = lambda _host, _path: None  # of a file that is there
    check: Callable[[FileLayout, StorageFacts], str] = lambda _layout, _facts: "it has no layouts"
    render: Callable[[FileLayout, str], Commands] | None = None


@lru_cache(maxsize=1)
def storages() -> dict[str, Storage]:
    """Name → file system; the one that stands for all others last."""
    found = {name: module.STORAGE for name, module in modules_of(mpiric.storage).items()}
    return dict(sorted(found.items(), key=lambda item: not item[1].types))


def recognise(mount: Mount, magic: int = 0) -> str:
    """Name of the file system behind a mount; ``magic`` decides where the mount table does not.

    A FUSE mount without a subtype shows what it is only by its source.
    """
    kind, is_fuse = mount.kind.removeprefix("fuse."), mount.kind.startswith("fuse")
    for name, storage in storages().items():
        if kind in storage.types or (magic and magic in storage.magics):
            return name
        if is_fuse and mount.source.startswith(storage.sources):
            return name
    return next(name for name, storage in storages().items() if not storage.types)
