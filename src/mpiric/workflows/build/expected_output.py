"""What must stay the same in every cell of the matrix of `mpiric verify`."""

from dataclasses import replace

from mpiric.model.errors import ProgramFailedError
from mpiric.tuning.equivalence.output_equivalence import Expectation, learn
from mpiric.workflows.build.matrix_run import MatrixRun, last_line, output_of, run_once


def learn_reference(run: MatrixRun) -> tuple[Expectation, float]:
    """What must stay the same, and the seconds it takes."""
    runs = [run_once(run) for _ in range(2)]
    outputs = [done for done, _ in runs]
    for done in outputs:
        if done.status != 0:
            raise ProgramFailedError(
                f"the program itself ends with status {done.status}: "
                f"{last_line(output_of(done) + done.words)}",
                hint="give arguments with which it runs to its end",
            )
    return learn([output_of(done) for done in outputs]), max(seconds for _, seconds in runs)


def learn_slow_reference(native: MatrixRun, cpu: str, expected: Expectation) -> Expectation:
    """What must stay the same at any speed: learned from the baseline, run natively and emulated.

    A program that prints times may print 0.0000 s in two native runs, and something else under another
    library, network or emulator. One variant computes the same natively and emulated, so what differs
    there is time.
    The baseline itself must agree with ``expected``.
    """
    base = replace(native, baseline=True)
    runs = [run_once(run)[0] for run in (base, base, replace(base, cpu=cpu))]
    outputs = [output_of(done) for done in runs]
    if any(done.status != 0 for done in runs) or expected.compare(
        outputs[0], rounding=native.request.rounding
    ):
        return expected
    return learn(outputs)
