"""OverlayMount: overlay of the user's directory for one launch; the user's directory is read-only."""

import ctypes
import os
from collections.abc import Callable

from mpiric.model.dataclass import dataclass

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class OverlayMount:
    """Mount request for the keeper; paths are absolute."""

    source: str  # the user's directory
    root: str  # empty directory that receives the whole file tree with the overlay
    lower: tuple[str, ...]  # read-only layers, uppermost first; the last is the user's directory
    upper: str  # layer that the launch writes to
    work: str  # work directory of the kernel, on the file system of `upper`
    exempt: tuple[str, ...] = ()  # directories inside `source` that are not overlaid

    @property
    def path(self) -> str:
        """Return the path of the directory for the launch."""
        return self.root + self.source


def entering(pid: int, directory: str) -> Callable[[], None]:
    """Return a function that a child calls before exec to enter a process's namespaces and ``directory``."""

    def enter() -> None:
        for name in ("user", "mnt"):
            namespace = f"/proc/{pid}/ns/{name}"
            if os.readlink(namespace) == os.readlink(f"/proc/self/ns/{name}"):  # noqa: PTH115
                continue
            descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
            if _libc.setns(descriptor, 0) != 0:
                raise OSError(ctypes.get_errno(), f"setns {name}")
        os.chdir(directory)

    return enter
