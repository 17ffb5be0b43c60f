"""`mpiric build`: the user's build with every compiler, checked and timed in pairs, with a recommendation."""

import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mpiric.build.candidates import CALLED, Candidate, candidates, shims
from mpiric.host.files import exists
from mpiric.host.host import Host
from mpiric.host.toolchain import Finished, Toolchain
from mpiric.lab.lab import drive
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, NotFoundError, ProgramFailedError
from mpiric.model.evidence import Verdict
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.run import Run
from mpiric.model.trial import Outcome, Trial
from mpiric.mpis import find_mpis
from mpiric.plans.fastest import BASELINE, fastest
from mpiric.tuning.equivalence.output_equivalence import Expectation, learn

_PATIENCE, _LEAST_LIMIT_S = (
    10,
    60,
)  # time limit of a run: this factor of the first program's time, at least these seconds
_NOTHING = (
    "the build called no compiler: clean the directory first, or give a command that rebuilds everything"
)
TIMED_OUT = 124


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


def run_attempt(
    request: BuildRequest, attempt: Attempt, toolchain: Toolchain, limit_s: float = 0.0
) -> tuple[Finished, float]:
    """Run the program; after ``limit_s`` (0: no limit) it is ended with status 124."""
    start = time.monotonic()
    argv = ("timeout", "-k", "5", f"{limit_s:.0f}", "sh", "-c", request.run)
    done = _in(attempt.tree, argv, attempt.environment, toolchain)
    return done, time.monotonic() - start


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


def check_answers(request: BuildRequest, built: Sequence[Attempt], toolchain: Toolchain) -> float:
    """Learn the expected output and the time limit from the first successful program; return the limit (s).

    Sums may be reordered if the flags permit it.
    """
    expected: Expectation | None = None
    limit_s = 0.0
    for attempt in built:
        runs = [run_attempt(request, attempt, toolchain, limit_s) for _ in range(1 if expected else 2)]
        failed = next((done for done, _ in runs if done.status != 0), None)
        attempt.agrees = failed is None
        if failed:
            late = limit_s and failed.status == TIMED_OUT
            attempt.sentence = f"no end within {limit_s:.0f} s" if late else error_line(failed.errors)
        elif expected is None:
            expected = learn([done.printed for done, _ in runs])
            limit_s = _LEAST_LIMIT_S + _PATIENCE * max(seconds for _, seconds in runs)
        else:
            wrong = expected.compare(runs[0][0].printed, rounding=True)
            attempt.agrees, attempt.sentence = wrong is None, str(wrong or "")
    if expected is None:
        raise ProgramFailedError(
            f"'{request.run}' fails as {built[0].label} built it, and as all others did: {built[0].sentence}"
        )
    return limit_s


def proved_fastest(
    request: BuildRequest, right: Sequence[Attempt], toolchain: Toolchain, limit_s: float
) -> tuple[Attempt | None, str]:
    """Return the attempt that new pairs prove fastest, else the first, and a sentence; set the ratios."""
    if not right:
        return None, ""
    attempts = {Configuration.of({"build": attempt.label}): attempt for attempt in right[1:]}
    attempts = {BASELINE: right[0], **attempts}

    def measure(run: Run) -> Trial:
        attempt = attempts[run.configuration]
        done, seconds = run_attempt(request, attempt, toolchain, limit_s)
        attempt.seconds.append(seconds)
        trial = Trial(run.configuration, run.phase, Outcome.OK, seconds, seconds, pair=run.pair)
        reason = f"ended with status {done.status}" if done.status else ""
        return replace(trial, outcome=Outcome.FAILED, reason=reason) if reason else trial

    result = drive(fastest([*attempts][1:], request.repeats, secrets.randbits(32)), measure)
    for configuration, ratio in result.ratios.items():
        attempts[configuration].ratio = ratio
    first, evidence = right[0], result.evidence
    if evidence is None:
        return first, f"no build was faster than {first.label}" if result.ratios else ""
    best, pairs = attempts[evidence.configuration], len(evidence.pairs)
    if evidence.verdict is Verdict.FASTER:
        return (
            best,
            f"{best.label} is {evidence.ratio:.3f} times as fast as {first.label}: {pairs} fresh pairs",
        )
    return first, f"no difference shown in {pairs} fresh pairs between {first.label} and {best.label}"


@dataclass(frozen=True)
class BuildAdvice:
    """Attempts and recommendation."""

    attempts: tuple[Attempt, ...]
    best: Attempt | None
    targets: tuple[str, ...]
    proof: str  # result of new pairs of runs, "" without timing


def try_all(
    request: BuildRequest, host: Host, toolchain: Toolchain, watch: Callable[[str], None]
) -> BuildAdvice:
    """Build with each candidate, check the results against the first, measure the times alternately."""
    path = toolchain.environ.get("PATH", "")
    if request.feedback and not request.run:
        raise MpiricError("--feedback needs a run", hint="add --run COMMAND")
    if not candidates(path):
        raise NotFoundError("no compiler that mpiric knows is on PATH", hint="apt-get install gcc")
    mpis: Sequence[MpiLibrary | None] = (
        [m for m in find_mpis(host) if m.compilers] if request.try_mpis else [None]
    )
    with tempfile.TemporaryDirectory(prefix="mpiric-build-") as name:
        attempts: list[Attempt] = []
        all_candidates = candidates(path, Path(name, "profiles") if request.feedback else None)
        for number, (mpi, candidate) in enumerate((m, c) for m in mpis or [None] for c in all_candidates):
            attempt = build_attempt(request, candidate, mpi, Path(name, str(number)), toolchain)
            watch(f"{attempt.label}: {'built' if attempt.built else attempt.sentence}")
            attempts.append(attempt)
        built = [attempt for attempt in attempts if attempt.built]
        if request.run and built:
            watch(f"checking the answers of {len(built)} programs")
            limit_s = check_answers(request, built, toolchain)
            right = [attempt for attempt in built if attempt.agrees]
            watch(
                f"timing {len(right)} programs in {request.repeats} rounds, then the fastest in fresh pairs"
            )
            best, proof = proved_fastest(request, right, toolchain, limit_s)
        else:
            best, proof = next(iter(built), None), ""
    return BuildAdvice(tuple(attempts), best, _targets(), proof)


def _targets() -> tuple[str, ...]:
    """Return the levels up to this machine's, for a fat executable that also runs on older machines."""
    import archspec.cpu

    host_cpu = archspec.cpu.host()
    line = [host_cpu.generic, *host_cpu.generic.ancestors]
    return tuple(
        sorted(str(level) for level in line if str(level).startswith(("x86_64_v", "armv", "neoverse")))
    )
