"""Requests for a launch: an early end once the required data is complete, and an overlay of its directory."""

import ctypes
import os
import time
from collections.abc import Callable
from dataclasses import field

from mpiric.model.dataclass import dataclass


@dataclass
class EarlyEnd:
    """Condition for ending a launch early. Such a launch does not count as failed.

    ``is_known``: nothing more can be learned from the run. The keeper ends it ``patience_s`` later, unless
    the program ``ends_itself`` by then; its exit status is ignored. ``is_hopeless``: the remaining run is
    useless, so that the keeper ends it immediately.
    """

    is_known: Callable[[], bool]
    patience_s: float = 0.0
    ends_itself: bool = False
    every_s: float = 0.1  # interval between checks
    is_hopeless: Callable[[], bool] = lambda: False
    _known_since: float | None = field(default=None, init=False)

    def is_due(self) -> bool:
        """Return whether the launch must be ended now."""
        if self._known_since is None and self.is_known():
            self._known_since = time.monotonic()
        if self._known_since is None:
            return self.is_hopeless()
        return time.monotonic() - self._known_since >= self.patience_s

    def has_come(self) -> bool:
        """Return whether the launch, which was not terminated, has ended itself early."""
        return self.ends_itself and self.is_known()


def after(seconds: float) -> EarlyEnd:
    """Return an early end after a fixed time."""
    start_s = time.monotonic()
    return EarlyEnd(lambda: time.monotonic() - start_s >= seconds)


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
