import json
import re
from pathlib import Path

import pytest
from tests.support.explored_jobs import PAIR, end, job

from mpiric.model.errors import MpiricError
from mpiric.tuning.events import read_log
from mpiric.tuning.exploration import VERSION, Side, begun_fields, end_fields, read_ledger
from mpiric.tuning.store import EVENTS, Store

SPEC = Path(__file__).parents[4] / "spec/formats/explore.md"
META = {"ledger": VERSION, "mark": PAIR.option, "on_rank_0_alone": False, "command": ["srun", "app"]}


def written(directory, *jobs, **meta):
    with Store.part(directory, **{**META, **meta}) as log:
        for job in jobs:
            log.append("began", begun_fields(job))
            if job.end:
                log.append("ended", end_fields(job.job, job.end))
    return directory / EVENTS


def test_jobs_come_back_as_they_went_in(tmp_path):
    jobs = (
        job(1, Side.RECIPE, end(0.04)),
        job(1, Side.ORIGINAL, end(None, status=None)),
        job(2, Side.RECIPE, None),
    )
    ledger = read_ledger(read_log(written(tmp_path / "a", *jobs)))
    assert ledger.pair == PAIR
    assert [(j.job, j.block, j.side, j.end and j.end.status) for j in ledger.jobs] == [
        ("1recipe", 1, Side.RECIPE, 0),
        ("1original", 1, Side.ORIGINAL, None),
        ("2recipe", 2, Side.RECIPE, None),
    ]
    assert ledger.jobs[0].end.pace.last_timed == end(0.04).pace.last_timed


def test_a_ledger_cut_short_loses_its_last_line_and_counts_it(tmp_path):
    path = written(tmp_path / "a", job(1, Side.RECIPE, end()), job(1, Side.ORIGINAL, end()))
    path.write_bytes(path.read_bytes()[:-30])
    ledger = read_ledger(read_log(path))
    assert ledger.damaged_lines == 1
    assert [each_job.end is not None for each_job in ledger.jobs] == [True, False]


def test_a_ledger_of_a_later_version_is_refused(tmp_path):
    path = written(tmp_path / "a", ledger=VERSION + 1)
    with pytest.raises(MpiricError, match="version 2, this mpiric reads 1"):
        read_ledger(read_log(path))


@pytest.mark.parametrize("field", ["job", "block", "side", "process", "scheduler"])
def test_an_event_without_its_required_fields_is_left_out(tmp_path, field):
    path = written(tmp_path / "a", job(1, Side.RECIPE, end()))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    del lines[1][field]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_ledger(read_log(path)).jobs == ()


def test_a_job_whose_name_leads_elsewhere_is_left_out(tmp_path):
    path = written(tmp_path / "a", job(1, Side.RECIPE, end()))
    path.write_text(path.read_text().replace("1recipe", "../../etc"))
    assert read_ledger(read_log(path)).jobs == ()


def test_the_example_of_the_format_s_page_is_read(tmp_path):
    text = re.search(r"```json\n(.*?)```", SPEC.read_text(), re.DOTALL)[1]
    path = tmp_path / EVENTS
    path.write_text(text)
    ledger = read_ledger(read_log(path))
    assert ledger.damaged_lines == 0
    assert ledger.jobs[0].end.pace.last_timed == 3001
    assert ledger.pair is not None
