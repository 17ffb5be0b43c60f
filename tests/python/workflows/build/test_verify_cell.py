"""A run of the matrix of `mpiric verify`, with a toolchain that answers from a list."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from mpiric.abi import networks_of
from mpiric.host.toolchain import Finished, Toolchain
from mpiric.outputs.equivalence import learn
from mpiric.workflows.build import matrix_run
from mpiric.workflows.build.matrix_run import MatrixRun, VerifyRequest, judge_cell, run_once

NO_END = Finished(124, b"", b"")
RIGHT = Finished(0, b"42\n", b"mpiric: x86_64_v3 chosen\n")
WRONG = Finished(0, b"43\n", b"")


class Answers(Toolchain):
    def __init__(self, *answers: Finished) -> None:
        super().__init__(os.environ, 1)
        self.answers = list(answers)
        self.ran: list[Sequence[str]] = []

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Finished:
        self.ran.append(argv)
        return self.answers.pop(0)


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ((RIGHT,), "right"),
        ((NO_END, RIGHT), "right, at the second try: the first run did not end"),
        ((NO_END, NO_END), "WRONG, it printed nothing"),
    ],
)
def test_a_run_without_an_end_is_repeated_once_and_reported(
    answers: tuple[Finished, ...], verdict: str
) -> None:
    request = VerifyRequest(Path("/bin/true"), (), 2, None, (), rounding=False)
    run = MatrixRun(request, Answers(*answers), None, networks_of(())[0], "")
    cell = judge_cell(run, learn(["42\n", "42\n"]))
    assert cell is not None
    assert cell.verdict == verdict


def test_a_wrong_answer_is_not_tried_again() -> None:
    request = VerifyRequest(Path("/bin/true"), (), 2, None, (), rounding=False)
    run = MatrixRun(request, Answers(WRONG), None, networks_of(())[0], "")
    cell = judge_cell(run, learn(["42\n", "42\n"]))
    assert cell is not None
    assert not cell.is_green


def test_a_run_may_take_longer_the_longer_the_program_takes_here() -> None:
    request = VerifyRequest(Path("/bin/true"), (), 2, None, (), rounding=False)
    quick, slow = (MatrixRun(request, Answers(), None, networks_of(())[0], "", usual_s=s) for s in (0.1, 5.0))
    assert 60 <= quick.limit_s < slow.limit_s


@pytest.mark.parametrize(("hosts", "cleaned"), [(("n1", "n2"), True), ((), False)])
def test_a_run_over_hosts_that_failed_is_cleaned_up(
    monkeypatch: pytest.MonkeyPatch, hosts: tuple[str, ...], cleaned: bool
) -> None:
    monkeypatch.setattr(matrix_run, "_launcher", lambda *_: ["mpiexec"])
    request = VerifyRequest(Path("/bin/true"), (), 2, None, ("eth0",), rounding=False, hosts=hosts)
    answers = Answers(NO_END, RIGHT)
    run_once(MatrixRun(request, answers, None, networks_of(("eth0",))[-1], ""))
    assert any("remove_recent" in word for argv in answers.ran for word in argv) is cleaned
