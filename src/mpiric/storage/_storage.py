"""Declaration of a file system by a module of this package, and the registry of them."""

from collections.abc import Callable
from functools import lru_cache

import mpiric.storage
from mpiric.host.host import Host
from mpiric.model.dataclass import dataclass
from mpiric.model.registry import modules_of
from mpiric.model.storage import FileLayout, Mount, StorageFacts

Commands = tuple[tuple[str, ...], ...]
QUESTION_S = 5.0  # time limit: a client whose servers are unreachable does not answer at all


@dataclass(frozen=True)
class Storage:
    """A kind of file system: its identity and pure functions. ``read`` asks the host that it is passed.

    ``check`` returns a sentence about what is wrong with a layout, else "". ``render`` returns the commands
    that set a layout on a directory for files created in it later; None if layouts cannot be set.
    """

    title: str  # name as written by its vendor
    types: tuple[str, ...]  # names in the mount table, without "fuse."; empty: recognised after all others
    magics: tuple[int, ...] = ()  # values of f_type of statfs(2)
    sources: tuple[str, ...] = ()  # prefixes of the source of a FUSE mount without a subtype
    is_network: bool = True
    drivers: tuple[str, ...] = ()  # MPI-IO drivers made for it; "ufs" serves any file system
    read: Callable[[Host, Mount, str], StorageFacts] = lambda _host, _mount, _path: StorageFacts()
    layout: Callable[[Host, str], FileLayout | None] = lambda _host, _path: None  # layout of an existing file
    check: Callable[[FileLayout, StorageFacts], str] = lambda _layout, _facts: "it does not support layouts"
    render: Callable[[FileLayout, str], Commands] | None = None


@lru_cache(maxsize=1)
def storages() -> dict[str, Storage]:
    """Return the file systems by name; the fallback for unknown ones comes last."""
    modules = {name: module.STORAGE for name, module in modules_of(mpiric.storage).items()}
    return dict(sorted(modules.items(), key=lambda item: not item[1].types))


def recognise(mount: Mount, magic: int = 0) -> str:
    """Return the name of the file system behind a mount; ``magic`` decides if the mount table does not.

    A FUSE mount without a subtype is recognised by its source only.
    """
    kind, is_fuse = mount.kind.removeprefix("fuse."), mount.kind.startswith("fuse")
    for name, storage in storages().items():
        if kind in storage.types or (magic and magic in storage.magics):
            return name
        if is_fuse and mount.source.startswith(storage.sources):
            return name
    return next(name for name, storage in storages().items() if not storage.types)
