"""Attempt of `mpiric build`: a build with one compiler, flag set and MPI library, and its runs."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mpiric.build.candidates import CALLED, Candidate, shims
from mpiric.host.files import exists
from mpiric.host.toolchain import Finished, Toolchain
from mpiric.model.mpi_library import MpiLibrary

_NOTHING = "the build called no compiler: clean the directory first, or give a command that builds all anew"


@dataclass(frozen=True)
class BuildRequest:
    """Options of `mpiric build`."""

    build: tuple[str, ...]
    run: str  # shell command in the built tree, "" to build only
    repeats: int
    try_mpis: bool
    root: Path
    feedback: bool = False  # also build with profile-guided optimisation, in two steps


@dataclass
class Attempt:
    """Build with one compiler, flag set and MPI library."""

    label: str
    family: str
    flag_set: str
    mpi: str
    built: bool
    sentence: str = ""  # reason for its exclusion
    vectorised: int = 0  # loops and blocks that the compiler reported as vectorised
    agrees: bool | None = None
    seconds: list[float] = field(default_factory=list)
    ratio: float | None = None  # speed relative to the first attempt, median of pairs
    tree: Path = Path()
    environment: Mapping[str, str] = field(default_factory=dict)


def build_attempt(
    request: BuildRequest, candidate: Candidate, mpi: MpiLibrary | None, directory: Path, toolchain: Toolchain
) -> Attempt:
    """Build the tree; with profile-guided optimisation, run it and build again with the profile."""
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
            shutil.copytree(
                request.root, tree, symlinks=True
            )  # profiles are found by the path of the objects
            shims(candidate, directory / "bin", candidate.flags)
            done = _in(tree, request.build, environment, toolchain)
    output = done.printed + done.errors
    label = f"{candidate.label}{f', {mpi.label}' if mpi else ''}"
    is_built = done.status == 0 and exists(directory / "bin" / CALLED)
    attempt = Attempt(label, candidate.family, candidate.flag_set, mpi.label if mpi else "", is_built)
    attempt.sentence = "" if is_built else _NOTHING if done.status == 0 else error_line(output)
    attempt.vectorised = sum("vectorized" in line for line in output.splitlines())
    attempt.tree, attempt.environment = tree, environment
    return attempt


def _in(
    tree: Path, arguments: Sequence[str], environment: Mapping[str, str], toolchain: Toolchain
) -> Finished:
    return toolchain.run(["env", "-C", str(tree), *arguments], environment=environment)


def error_line(text: str) -> str:
    """Return the first line that contains an error, else the first line."""
    lines = [line for line in text.splitlines() if line.strip()]
    telling = ("error", "cannot find", "undefined reference")
    errors = [line for line in lines if any(word in line.lower() for word in telling)]
    return (errors or lines or ["it printed nothing"])[0][:160]
