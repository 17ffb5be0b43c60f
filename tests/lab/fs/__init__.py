"""Striped file system of the lab over FUSE, with a cost model of its servers; compiled at the first use.

It models queues, extent locks between clients, and metadata. It does not model the scheduling of requests
on real servers, the sharing of links in a network, and the page cache (files are opened for direct I/O).
"""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab.errors import LabError

SOURCES = Path(__file__).parent
# Settings of a file system without costs: for tests of results, not of times.
FAST = ("latency=0", "bandwidth=10000", "metadata=0", "directory=0", "glimpse=0", "lock=0")
_PATIENCE_S = 10.0


@dataclass(frozen=True)
class Client:
    """Mount of one host; ``state`` is shared by all clients of a file system."""

    mount: Path
    state: Path
    environment: Mapping[str, str]  # PATH contains `lfs`

    def fault(self, lines: str) -> None:
        """Inject faults, a line each (see faults.hpp); no lines end all faults."""
        (self.state / "faults").write_text(lines)


def build(program: Path) -> Path:
    """Return the compiled client; compile it if it does not exist."""
    if program.exists():
        return program
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True)
    command = ["g++", "-std=c++20", "-O2", "-D_FILE_OFFSET_BITS=64", "-o", str(program)]
    sources = [str(path) for path in sorted(SOURCES.glob("*.cpp"))]
    done = subprocess.run(
        [*command, *sources, *flags.stdout.split(), "-lpthread"], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise LabError(
            f"the lab's file system does not compile: {done.stderr.strip()[:400]}",
            hint="on Debian: apt-get install libfuse3-dev pkg-config g++",
        )
    return program


def lustre_calls(library: Path) -> Path:
    """Return the compiled lustre_calls.c; preloaded, it makes Lustre drivers accept this file system."""
    command = ["gcc", "-O2", "-shared", "-fPIC", "-o", library, SOURCES / "lustre_calls.c", "-ldl"]
    subprocess.run(command, check=True)
    return library


@contextmanager
def client(program: Path, state: Path, mount: Path, *settings: str) -> Iterator[Client]:
    """Mount the file system for one host during the context; ``settings`` as in servers.hpp (`targets=8`)."""
    for directory in (state, mount):
        directory.mkdir(parents=True, exist_ok=True)
    outside = mount.stat().st_dev
    targets = next((word.split("=")[1] for word in settings if word.startswith("targets=")), "8")
    process = subprocess.Popen([program, state, mount, *settings], stderr=subprocess.PIPE, text=True)
    try:
        _wait(process, mount, outside)
        path = f"{SOURCES}:{os.environ.get('PATH', '')}"
        yield Client(mount, state, {**os.environ, "PATH": path, "LAB_FS_TARGETS": targets})
    finally:
        subprocess.run(["fusermount3", "-u", "-z", mount], capture_output=True)
        process.terminate()
        process.wait(_PATIENCE_S)


def _wait(process: "subprocess.Popen[str]", mount: Path, outside: int) -> None:
    end = time.monotonic() + _PATIENCE_S
    while mount.stat().st_dev == outside:
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            output = process.communicate()[1].strip()
            raise LabError(f"the lab's file system cannot be mounted: {output}", hint="FUSE needs /dev/fuse")
        time.sleep(0.01)
