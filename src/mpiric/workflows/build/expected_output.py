"""Expected output for all cells of the matrix of `mpiric verify`."""

from dataclasses import replace

from mpiric.model.errors import ProgramFailedError
from mpiric.tuning.equivalence.output_equivalence import Expectation, learn
from mpiric.workflows.build.matrix_run import MatrixRun, last_line, output_of, run_once


def learn_reference(run: MatrixRun) -> tuple[Expectation, float]:
    """Return the expected output, and the duration of a run in seconds."""
    runs = [run_once(run) for _ in range(2)]
    outputs = [done for done, _ in runs]
    for done in outputs:
        if done.status != 0:
            raise ProgramFailedError(
                f"the program itself ends with status {done.status}: "
                f"{last_line(output_of(done) + done.errors)}",
                hint="give arguments with which it runs to its end",
            )
    return learn([output_of(done) for done in outputs]), max(seconds for _, seconds in runs)


def learn_slow_reference(native: MatrixRun, cpu: str, expected: Expectation) -> Expectation:
    """Return the expected output without times: learned from the baseline, run natively and emulated.

    A program that prints times may print 0.0000 s in two native runs, and another value with another
    library, network or emulator. A variant computes the same natively and emulated, so that differences are
    times. The baseline itself must agree with ``expected``.
    """
    base = replace(native, baseline=True)
    runs = [run_once(run)[0] for run in (base, base, replace(base, cpu=cpu))]
    outputs = [output_of(done) for done in runs]
    if any(done.status != 0 for done in runs) or expected.compare(
        outputs[0], rounding=native.request.rounding
    ):
        return expected
    return learn(outputs)
