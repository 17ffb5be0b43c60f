"""OverlayMount: a directory for one launch, laid over the user's own, which is only read."""

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class OverlayMount:
    """What the keeper is to mount; paths are absolute."""

    source: str  # the user's directory
    root: str  # an empty directory, below which the whole tree of files appears with the overlay in it
    lower: tuple[str, ...]  # layers that are only read, uppermost first; the last is the user's directory
    upper: str  # what the launch writes
    work: str  # for the kernel, on the file system of `upper`
    kept: tuple[str, ...] = ()  # directories inside `source` that stay the real ones under their own path

    @property
    def path(self) -> str:
        """Where the launch finds its directory."""
        return self.root + self.source


def entering(pid: int, directory: str) -> Callable[[], None]:
    """Make what a child calls before exec, to see what the process sees and stand in ``directory`` of it."""

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
