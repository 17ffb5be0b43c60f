"""What every benchmark does when its work ends otherwise than well."""

import subprocess
from argparse import Namespace

import pytest
from benchmarks._report import Result, run


@pytest.mark.parametrize(
    ("what", "status", "said"),
    [
        (KeyboardInterrupt(), 130, "cost: interrupted\n"),
        (subprocess.TimeoutExpired(["mpiexec"], 600), 123, "timed out after 600"),
        (OSError(28, "No space left on device"), 123, "No space left"),
    ],
)
def test_it_says_one_sentence(what: BaseException, status: int, said: str, capsys) -> None:
    def work(_: Namespace) -> Result:
        raise what

    assert run("cost", Namespace(), work) == status
    assert said in capsys.readouterr().err
