"""`mpiric build`: the user's build with every compiler, checked and timed in pairs, with a recommendation."""

import secrets
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mpiric.build.candidates import candidates
from mpiric.host.host import Host
from mpiric.host.toolchain import Toolchain
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
from mpiric.workflows.build.attempt import (
    TIMED_OUT,
    Attempt,
    BuildRequest,
    build_attempt,
    error_line,
    run_attempt,
)

_PATIENCE, _LEAST_LIMIT_S = (
    10,
    60,
)  # time limit of a run: this factor of the first program's time, at least these seconds


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
        return first, f"none was faster than {first.label}" if result.ratios else ""
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
        raise MpiricError("feedback comes from a run, and none is given", hint="add --run COMMAND")
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
