"""Check of the results of the programs that `mpiric build` built, against the first one."""

from collections.abc import Sequence

from mpiric.host.toolchain import Toolchain
from mpiric.model.errors import ProgramFailedError
from mpiric.tuning.equivalence.output_equivalence import Expectation, learn
from mpiric.workflows.build.attempt import TIMED_OUT, Attempt, BuildRequest, error_line, run_attempt

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
