"""`mpiric history --explore` names the known causes of failed jobs."""

from dataclasses import replace
from pathlib import Path

from tests.support.explored_jobs import PAIR, end, job

from mpiric.tuning.exploration import Ledger, Side, explored
from mpiric.workflows.history.history import explored_json, explored_lines

FAILED = replace(end(status=132), cause="an instruction is missing; compile it here")
JOBS = (job(1, Side.ORIGINAL, FAILED), job(1, Side.RECIPE, FAILED), job(2, Side.RECIPE, end()))
SERIES = (Path("/ledger"), Ledger(PAIR, command=("./a",), jobs=JOBS), explored(JOBS, PAIR))


def test_equal_causes_are_one_line():
    assert list(explored_lines([SERIES]))[-1] == "  2 jobs failed: an instruction is missing; compile it here"


def test_each_failed_job_is_in_the_json():
    assert explored_json(SERIES)["failures"] == [
        {"job": f"1{side.value}", "status": 132, "cause": FAILED.cause} for side in Side
    ]
