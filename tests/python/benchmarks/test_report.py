"""Behaviour of every benchmark when its work fails."""

import subprocess
from argparse import Namespace

import pytest
from benchmarks._report import Result, page, run

from mpiric.model.errors import ExitCode


@pytest.mark.parametrize(
    ("what", "status", "message"),
    [
        (KeyboardInterrupt(), 130, "cost: interrupted\n"),
        (subprocess.TimeoutExpired(["mpiexec"], 600), ExitCode.PROGRAM_FAILED, "timed out after 600"),
        (OSError(28, "No space left on device"), ExitCode.PROGRAM_FAILED, "No space left"),
    ],
)
def test_an_error_is_reported_in_one_sentence(what: BaseException, status: int, message: str, capsys) -> None:
    def work(_: Namespace) -> Result:
        raise what

    assert run("cost", Namespace(), work) == status
    assert message in capsys.readouterr().err


def test_page_names_command_machine_date_and_commit() -> None:
    document = {
        "options": {
            "quick": False,
            "rounds": 9,
            "only": [],
            "against": "/a/b/native",
            "save": True,
            "seed": 0,
        },
        "machine": "2 CPUs, a model",
        "load_before": 0.25,
        "ended_at": "2026-11-23T01:02:03+00:00",
    }
    text = page(
        "cost",
        Result({"name": "call", "ns": "added, ns"}, [{"name": "Send", "ns": 1.5}], "Little."),
        document,
        "abc1234",
    )
    assert "| command | `python -m benchmarks.cost --rounds 9 --against …/native` |\n" in text
    assert (
        "| machine | 2 CPUs, a model, load 0.2 before the start |\n| date | 2026-11-23T01:02:03+00:00 |\n"
        in text
    )
    assert text.endswith(
        "| mpiric | abc1234 |\n\n| call | added, ns |\n| --- | --- |\n| Send | 1.5 |\n\nLittle.\n"
    )
