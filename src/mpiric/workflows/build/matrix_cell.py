"""The runs of one cell of the matrix of `mpiric verify`, judged."""

import re
from dataclasses import dataclass, replace

from mpiric.abi.serving import Serving
from mpiric.tuning.equivalence.output_equivalence import Expectation
from mpiric.workflows.build.matrix_run import MatrixRun, is_illegal, last_line, output_of, run_once

NATIVE = "this machine"
_NO_END = (124, 137)  # of `timeout`
_CHOSEN = re.compile(r"^mpiric: (\S+) chosen", re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """One run of the matrix."""

    cpu: str
    mpi: str  # "" for a program without MPI
    network: str
    path: str  # the variant that ran; several when ranks differ; "" for a program that is not fat
    status: int
    agrees: bool
    sentence: str  # what was wrong
    is_second_try: bool  # the first came to no end, as happens to libraries that wait for each other
    library_unfit: bool  # the baseline fails alike, so it is the MPI library that this CPU cannot run
    seconds: float | None  # native runs only
    is_translated: bool = False  # the library is of another ABI family than the program

    @property
    def is_green(self) -> bool:
        """Whether it ran to its end with the right answer."""
        return self.status == 0 and self.agrees

    @property
    def verdict(self) -> str:
        """The outcome in words, for who watches."""
        if self.is_green:
            return "right, at the second try: the first came to no end" if self.is_second_try else "right"
        return self.sentence if self.library_unfit else f"WRONG, {self.sentence}"


def judge_cell(run: MatrixRun, expected: Expectation) -> Cell | None:
    """Run the program there, twice where it comes to no end; None where the library lacks the network."""
    mpi = run.server.library.label if run.server else ""
    if run.server and run.network.environment(run.server.library) is None:
        return None
    done, seconds = run_once(run)
    is_second_try = done.status in _NO_END
    if is_second_try:
        done, seconds = run_once(run)
    wrong = expected.compare(output_of(done), rounding=run.request.rounding) if done.status == 0 else None
    sentence = str(wrong or "") if done.status == 0 else last_line(done.words)
    paths = sorted(set(_CHOSEN.findall(done.words)))
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
