"""One attempt of `mpiric build`: the user's tree built by one compiler, flag set and MPI, and run."""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mpiric.build.candidates import CALLED, Candidate, shims
from mpiric.host.files import exists
from mpiric.host.toolchain import Finished, Toolchain
from mpiric.model.mpi_library import MpiLibrary

_NOTHING = "the build called no compiler: clean the directory first, or give a command that builds all anew"
TIMED_OUT = 124


@dataclass(frozen=True)
class BuildRequest:
    """What to build and how to run it."""

    build: tuple[str, ...]
    run: str  # a shell command in the built tree, "" to build only
    repeats: int
    try_mpis: bool
    root: Path
    feedback: bool = False  # also build twice, the second time with what a run of the first taught


@dataclass
class Attempt:
    """One compiler, flag set and MPI."""

    label: str
    family: str
    flag_set: str
    mpi: str
    built: bool
    sentence: str = ""  # why it is out
    vectorised: int = 0  # loops and blocks the compiler reported as vectorised
    agrees: bool | None = None
    seconds: list[float] = field(default_factory=list)
    ratio: float | None = None  # speed relative to the first attempt, median of pairs
    tree: Path = Path()
    environment: Mapping[str, str] = field(default_factory=dict)


def build_attempt(
    request: BuildRequest, candidate: Candidate, mpi: MpiLibrary | None, directory: Path, toolchain: Toolchain
) -> Attempt:
    """Build the tree; where the candidate learns from a run, once more with one profile of what it wrote."""
    tree = directory / "tree"
    shutil.copytree(request.root, tree, symlinks=True)
    environment = dict(shims(candidate, directory / "bin", candidate.training or candidate.flags))
    directories = [str(directory / "bin")]
    if mpi:
        directories += [*mpi.search_path, str(Path(mpi.launcher).parent)]
        environment |= mpi.environment
        environment["LD_LIBRARY_PATH"] = ":".join(mpi.library_path)
    environment["PATH"] = ":".join([*directories, toolchain.environ.get("PATH", "")])
    done = _in(tree, request.build, environment, toolchain)
    if candidate.training and done.status == 0:
        done = _in(tree, ("sh", "-c", request.run), environment, toolchain)
        if done.status == 0 and candidate.merge:
            done = _in(tree, candidate.merge, environment, toolchain)
        if done.status == 0:
            shutil.rmtree(tree)
            shutil.copytree(request.root, tree, symlinks=True)  # profiles go by the path of the objects
            shims(candidate, directory / "bin", candidate.flags)
            done = _in(tree, request.build, environment, toolchain)
    output = done.printed + done.words
    label = f"{candidate.label}{f', {mpi.label}' if mpi else ''}"
    is_built = done.status == 0 and exists(directory / "bin" / CALLED)
    attempt = Attempt(label, candidate.family, candidate.flag_set, mpi.label if mpi else "", is_built)
    attempt.sentence = "" if is_built else _NOTHING if done.status == 0 else error_line(output)
    attempt.vectorised = sum("vectorized" in line for line in output.splitlines())
    attempt.tree, attempt.environment = tree, environment
    return attempt


def run_attempt(
    request: BuildRequest, attempt: Attempt, toolchain: Toolchain, limit_s: float = 0.0
) -> tuple[Finished, float]:
    """Run the program; one that takes longer than ``limit_s`` (0: none) is ended with status 124."""
    start = time.monotonic()
    argv = ("timeout", "-k", "5", f"{limit_s:.0f}", "sh", "-c", request.run)
    done = _in(attempt.tree, argv, attempt.environment, toolchain)
    return done, time.monotonic() - start


def _in(tree: Path, words: Sequence[str], environment: Mapping[str, str], toolchain: Toolchain) -> Finished:
    return toolchain.run(["env", "-C", str(tree), *words], environment=environment)


def error_line(words: str) -> str:
    """The first line that names an error, else the first line."""
    lines = [line for line in words.splitlines() if line.strip()]
    telling = ("error", "cannot find", "undefined reference")
    errors = [line for line in lines if any(word in line.lower() for word in telling)]
    return (errors or lines or ["it printed nothing"])[0][:160]
