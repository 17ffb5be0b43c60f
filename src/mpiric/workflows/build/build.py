"""`mpiric build`: the user's build with every compiler here, checked, timed in pairs; what to build with."""

import math
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mpiric.build.candidates import CALLED, Candidate, candidates, shims
from mpiric.host.host import Host
from mpiric.host.toolchain import Finished, Toolchain
from mpiric.model.errors import MpiricError, NotFoundError, ProgramFailedError
from mpiric.model.mpi_library import MpiLibrary
from mpiric.mpis import find_mpis
from mpiric.tuning.equivalence.output_equivalence import Expectation, learn
from mpiric.tuning.proof.confidence_sequence import centre, median_interval

_NOTHING = "the build called no compiler: clean the directory first, or give a command that builds all anew"
_PATIENCE, _LEAST_LIMIT_S = 10, 60  # a run may take this many times the first program's, and these seconds
_TIMED_OUT = 124
WORTH_SAYING = 1.01  # a smaller gain is not recommended
ERROR = 0.05  # of calling something faster that is not
_FRESH = 6  # fresh pairs for each timed run of the choice, at most


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


@dataclass(frozen=True)
class BuildAdvice:
    """The attempts, and which to build with."""

    attempts: tuple[Attempt, ...]
    best: Attempt | None
    targets: tuple[str, ...]
    proof: str  # what fresh pairs of runs showed, "" when nothing was timed


def try_all(
    request: BuildRequest, host: Host, toolchain: Toolchain, watch: Callable[[str], None]
) -> BuildAdvice:
    """Build with each, check the answers against the first, time them interleaved."""
    path = toolchain.environ.get("PATH", "")
    if request.feedback and not request.run:
        raise MpiricError("feedback comes from a run, and none is given", hint="add --run COMMAND")
    if not candidates(path):
        raise NotFoundError("no compiler that mpiric knows is on PATH", hint="apt-get install gcc")
    mpis: Sequence[MpiLibrary | None] = (
        [m for m in find_mpis(host) if m.compilers] if request.try_mpis else [None]
    )
    with tempfile.TemporaryDirectory(prefix="mpiric-build-") as name:
        attempts: list[Attempt] = []
        found = candidates(path, Path(name, "profiles") if request.feedback else None)
        for number, (mpi, candidate) in enumerate((m, c) for m in mpis or [None] for c in found):
            attempt = _build(request, candidate, mpi, Path(name, str(number)), toolchain)
            watch(f"{attempt.label}: {'built' if attempt.built else attempt.sentence}")
            attempts.append(attempt)
        built = [attempt for attempt in attempts if attempt.built]
        if request.run and built:
            watch(f"checking the answers of {len(built)} programs")
            limit_s = _check(request, built, toolchain)
            right = [attempt for attempt in built if attempt.agrees]
            for round_ in range(request.repeats):
                watch(f"timing {len(right)} programs, round {round_ + 1} of {request.repeats}")
                _measure(request, right, toolchain, limit_s)
            _compare(right)
            watch("proving the fastest by fresh pairs")
            best, proof = _confirmed(request, attempts, toolchain, limit_s)
        else:
            best, proof = next(iter(built), None), ""
    return BuildAdvice(tuple(attempts), best, _targets(), proof)


def _build(
    request: BuildRequest, candidate: Candidate, mpi: MpiLibrary | None, place: Path, toolchain: Toolchain
) -> Attempt:
    tree = place / "tree"
    shutil.copytree(request.root, tree, symlinks=True)
    environment = dict(shims(candidate, place / "bin", candidate.training or candidate.flags))
    directories = [str(place / "bin")]
    if mpi:
        directories += [*mpi.search_path, str(Path(mpi.launcher).parent)]
        environment |= mpi.environment
        environment["LD_LIBRARY_PATH"] = ":".join(mpi.library_path)
    environment["PATH"] = ":".join([*directories, toolchain.environ.get("PATH", "")])
    done = _in(tree, request.build, environment, toolchain)
    if candidate.training and done.status == 0:
        done = _learn_from_run(request, candidate, tree, environment, toolchain)
        if done.status == 0:
            shutil.rmtree(tree)
            shutil.copytree(request.root, tree, symlinks=True)  # profiles go by the path of the objects
            shims(candidate, place / "bin", candidate.flags)
            done = _in(tree, request.build, environment, toolchain)
    output = done.stdout.decode(errors="replace") + done.words
    label = f"{candidate.label}{f', {mpi.label}' if mpi else ''}"
    is_built = done.status == 0 and (place / "bin" / CALLED).exists()
    attempt = Attempt(label, candidate.family, candidate.flag_set, mpi.label if mpi else "", is_built)
    attempt.sentence = "" if is_built else _NOTHING if done.status == 0 else _last_line(output)
    attempt.vectorised = sum("vectorized" in line for line in output.splitlines())
    attempt.tree, attempt.environment = tree, environment
    return attempt


def _learn_from_run(
    request: BuildRequest,
    candidate: Candidate,
    tree: Path,
    environment: Mapping[str, str],
    toolchain: Toolchain,
) -> Finished:
    """Run the instrumented program once, and make one profile of what it wrote."""
    done = _in(tree, ("sh", "-c", request.run), environment, toolchain)
    if done.status == 0 and candidate.merge:
        done = _in(tree, candidate.merge, environment, toolchain)
    return done


def _check(request: BuildRequest, built: Sequence[Attempt], toolchain: Toolchain) -> float:
    """The first that runs teaches what must stay, and how long a run may take: the seconds.

    Sums may be reordered where the flags allow it.
    """
    expected: Expectation | None = None
    limit_s = 0.0
    for attempt in built:
        runs = [_run(request, attempt, toolchain, limit_s) for _ in range(1 if expected else 2)]
        failed = next((done for done, _ in runs if done.status != 0), None)
        attempt.agrees = failed is None
        if failed:
            late = limit_s and failed.status == _TIMED_OUT
            attempt.sentence = f"no end within {limit_s:.0f} s" if late else _last_line(failed.words)
        elif expected is None:
            expected = learn([done.stdout.decode(errors="replace") for done, _ in runs])
            limit_s = _LEAST_LIMIT_S + _PATIENCE * max(seconds for _, seconds in runs)
        else:
            wrong = expected.compare(runs[0][0].stdout.decode(errors="replace"), rounding=True)
            attempt.agrees, attempt.sentence = wrong is None, str(wrong or "")
    if expected is None:
        raise ProgramFailedError(
            f"'{request.run}' fails as {built[0].label} built it, and as all others did: {built[0].sentence}"
        )
    return limit_s


def _measure(request: BuildRequest, right: Sequence[Attempt], toolchain: Toolchain, limit_s: float) -> None:
    for attempt in random.sample(list(right), len(right)):
        attempt.seconds.append(_run(request, attempt, toolchain, limit_s)[1])


def _compare(right: Sequence[Attempt]) -> None:
    for attempt in right:
        pairs = zip(right[0].seconds, attempt.seconds, strict=True)
        attempt.ratio = statistics.median(first / own for first, own in pairs) if attempt.seconds else None


def _run(
    request: BuildRequest, attempt: Attempt, toolchain: Toolchain, limit_s: float = 0.0
) -> tuple[Finished, float]:
    """Run the program; one that takes longer than ``limit_s`` (0: none) is ended with status 124."""
    start = time.monotonic()
    words = ("timeout", "-k", "5", f"{limit_s:.0f}", "sh", "-c", request.run)
    done = _in(attempt.tree, words, attempt.environment, toolchain)
    return done, time.monotonic() - start


def _in(tree: Path, words: Sequence[str], environment: Mapping[str, str], toolchain: Toolchain) -> Finished:
    return toolchain.run(["env", "-C", str(tree), *words], environment=environment)


def _confirmed(
    request: BuildRequest, attempts: Sequence[Attempt], toolchain: Toolchain, limit_s: float
) -> tuple[Attempt | None, str]:
    """The fastest right one when fresh pairs prove it, else the first; and what they showed.

    The best of many looks better than it is, so the pairs that chose it do not count for it.
    """
    timed = [attempt for attempt in attempts if attempt.ratio is not None]
    if not timed:
        return next((attempt for attempt in attempts if attempt.agrees), None), ""
    first, best = timed[0], max(timed, key=lambda attempt: attempt.ratio or 0.0)
    if best is first:
        return first, f"none was faster than {first.label}"
    fresh: list[float] = []
    low, high = 0.0, math.inf
    while len(fresh) < _FRESH * request.repeats and low < WORTH_SAYING <= high:
        seconds = {a.label: _run(request, a, toolchain, limit_s)[1] for a in random.sample([first, best], 2)}
        fresh.append(seconds[first.label] / seconds[best.label])
        low, high = median_interval(fresh, ERROR)
    best.ratio = centre(fresh)
    if low >= WORTH_SAYING:
        return (
            best,
            f"{best.label} is {best.ratio:.3f} times as fast as {first.label}: {len(fresh)} fresh pairs",
        )
    return first, f"no difference shown in {len(fresh)} fresh pairs between {first.label} and {best.label}"


def _targets() -> tuple[str, ...]:
    """Levels up to this machine's: what a fat executable for it and older machines holds."""
    import archspec.cpu

    host_cpu = archspec.cpu.host()
    line = [host_cpu.generic, *host_cpu.generic.ancestors]
    return tuple(
        sorted(str(level) for level in line if str(level).startswith(("x86_64_v", "armv", "neoverse")))
    )


def _last_line(words: str) -> str:
    lines = [line for line in words.splitlines() if line.strip()]
    telling = ("error", "cannot find", "undefined reference")
    errors = [line for line in lines if any(word in line.lower() for word in telling)]
    return (errors or lines or ["it printed nothing"])[0][:160]
