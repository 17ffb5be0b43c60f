"""Damaged files given to their readers: a clean end or an error of mpiric's own is right, nothing else."""

import contextlib
import io
import lzma
import random
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.mutations import Mutate, damage

from mpiric.cli import _verbs
from mpiric.model.errors import MpiricError

FEW, MANY = 25, 1500  # damaged copies of each format
PATIENCE_S = 60  # time limit per file: generous, for loaded machines
COUNTS = [FEW, pytest.param(MANY, marks=[pytest.mark.sweep, pytest.mark.timeout(3600)])]


@dataclass(frozen=True)
class Format:
    """Files of one format: how they are damaged, and their reader."""

    name: str  # file name
    samples: Callable[[], tuple[bytes, ...]]
    read: Callable[[Path], object]
    mutate: Mutate = damage
    share: float = 1.0  # fraction of the usual number of copies: less for slow readers


def verb(*arguments: object) -> None:
    """Run a verb in this process, with output that takes UTF-8 and nothing else."""
    before = sys.argv
    sys.argv = ["mpiric", *map(str, arguments)]
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    try:
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            _verbs.run()
    finally:
        sys.argv = before


def files(*paths: Path) -> Callable[[], tuple[bytes, ...]]:
    return lambda: tuple(
        lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes() for path in paths
    )


def texts(*samples: bytes) -> Callable[[], tuple[bytes, ...]]:
    return lambda: samples


@contextlib.contextmanager
def alarm(what: str) -> Iterator[None]:
    """Fail after a time limit."""

    def ring(*_: object) -> None:
        raise AssertionError(f"{what} took more than {PATIENCE_S} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(PATIENCE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def read_or_refused(read: Callable[[], object], what: str, data: bytes, copy: Path) -> None:
    """Check that the reader succeeds or raises an error of mpiric; otherwise keep the damaged file."""
    try:
        with alarm(what):
            read()
    except MpiricError as error:
        assert error.message.strip()  # noqa: PT017
    except BaseException as error:
        copy.write_bytes(data)
        raise AssertionError(f"{what}: {type(error).__name__}: {error}; the file is {copy}") from error


def fuzz(kind: Format, count: int, place: Path, first: int = 0) -> None:
    samples = kind.samples()
    for seed in range(first, first + max(2, int(count * kind.share))):
        chance = random.Random(seed)
        data = kind.mutate(chance.choice(samples), chance)
        path = place / kind.name
        path.write_bytes(data)
        read_or_refused(lambda path=path: kind.read(path), f"seed {seed}", data, place / f"kept-{kind.name}")
