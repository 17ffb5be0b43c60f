"""Selection of the fastest attempt of `mpiric build`, proved by new pairs of runs."""

import secrets
from collections.abc import Sequence
from dataclasses import replace

from mpiric.host.toolchain import Toolchain
from mpiric.lab.lab import drive
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Verdict
from mpiric.model.run import Run
from mpiric.model.trial import Outcome, Trial
from mpiric.plans.fastest import BASELINE, fastest
from mpiric.workflows.build.attempt import Attempt, BuildRequest, run_attempt


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
