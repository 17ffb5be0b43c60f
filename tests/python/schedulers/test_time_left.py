from math import inf

import pytest

from mpiric.schedulers import batch_schedulers

PBS = "Job Id: 12.server\n    Resource_List.walltime = 01:00:00\n    resources_used.walltime = 00:10:05\n"


@pytest.mark.parametrize(
    ("scheduler", "printed", "left_s"),
    [
        ("slurm", "1-02:03:04\n", 93784.0),
        ("slurm", "59:30\n", 3570.0),
        ("slurm", "UNLIMITED\n", inf),
        ("slurm", "INVALID\n", None),
        ("slurm", "", None),
        ("pbs", PBS, 2995.0),
        ("pbs", "Job Id: 12.server\n    job_state = R\n", inf),
        ("pbs", "", None),
        ("lsf", "0:59 L\n", 3540.0),
        ("lsf", "-\n", inf),
        ("lsf", "", None),
        ("flux", "1800\n", 1800.0),
        ("flux", "infinity\n", inf),
        ("flux", "no job\n", None),
    ],
)
def test_the_remaining_time_of_a_job_is_read(scheduler, printed, left_s):
    assert batch_schedulers()[scheduler].time_left(printed) == left_s


@pytest.mark.parametrize("scheduler", sorted(batch_schedulers()))
def test_every_scheduler_is_asked_for_what_is_left(scheduler):
    assert batch_schedulers()[scheduler].time_left_query("12")
