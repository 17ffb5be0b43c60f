"""`mpiric build`: the user's build with every compiler, checked and timed in pairs, with a recommendation."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpiric.build.candidates import candidates
from mpiric.host.host import Host
from mpiric.host.toolchain import Toolchain
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.mpi_library import MpiLibrary
from mpiric.mpis import find_mpis
from mpiric.workflows.build.answers import check_answers
from mpiric.workflows.build.attempt import Attempt, BuildRequest, build_attempt
from mpiric.workflows.build.speed import proved_fastest


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
