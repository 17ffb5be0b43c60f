"""Execution and judgement of one cell of the matrix of `mpiric verify`."""

import re
from dataclasses import dataclass, replace

from mpiric.abi.serving import Serving
from mpiric.tuning.equivalence.output_equivalence import Expectation
from mpiric.workflows.build.matrix_run import MatrixRun, is_illegal, last_line, output_of, run_once

NATIVE = "this machine"
_NO_END = (124, 137)  # exit statuses of `timeout`
_CHOSEN = re.compile(r"^mpiric: (\S+) chosen", re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """Result of one cell of the matrix."""

    cpu: str
    mpi: str  # "" for a program without MPI
    network: str
    path: str  # variant that ran; several if ranks differ; "" for a program that is not fat
    status: int
    agrees: bool
    sentence: str  # reason of a failure
    is_second_try: bool  # the first run did not end, for example because of a deadlock in the library
    library_unfit: bool  # the baseline fails too: the MPI library does not run on this CPU
    seconds: float | None  # only for native runs
    is_translated: bool = False  # the library has another ABI family than the program

    @property
    def is_green(self) -> bool:
        """Return whether it succeeded with the expected output."""
        return self.status == 0 and self.agrees

    @property
    def verdict(self) -> str:
        """Return the result as text."""
        if self.is_green:
            return "right, at the second try: the first came to no end" if self.is_second_try else "right"
        return self.sentence if self.library_unfit else f"WRONG, {self.sentence}"


def judge_cell(run: MatrixRun, expected: Expectation) -> Cell | None:
    """Run the program, twice if it does not end; None if the library does not support the network."""
    mpi = run.server.library.label if run.server else ""
    if run.server and run.network.environment(run.server.library) is None:
        return None
    done, seconds = run_once(run)
    is_second_try = done.status in _NO_END
    if is_second_try:
        done, seconds = run_once(run)
    wrong = expected.compare(output_of(done), rounding=run.request.rounding) if done.status == 0 else None
    sentence = str(wrong or "") if done.status == 0 else last_line(done.errors)
    paths = sorted(set(_CHOSEN.findall(done.errors)))
    native = not run.cpu
    unfit = run.server is not None and is_illegal(done)
    unfit = unfit and is_illegal(run_once(replace(run, baseline=True))[0])
    if unfit:
        sentence = f"{mpi} itself uses instructions that this CPU lacks"
    return Cell(
        cpu=run.cpu or NATIVE,
        mpi=mpi,
        network=run.network.name,
        path=", ".join(paths),
        status=done.status,
        agrees=done.status == 0 and wrong is None,
        sentence=sentence,
        is_second_try=is_second_try,
        library_unfit=unfit,
        seconds=round(seconds, 3) if native else None,
        is_translated=run.server is not None and run.server.how is Serving.TRANSLATED,
    )
