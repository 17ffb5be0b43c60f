"""Binding to the CPUs that other jobs on the node leave free."""

from dataclasses import replace

import pytest
from tests.support.situations import MPIS, machine, rank, situation

from mpiric.knobs import consider, knob_named
from mpiric.lab.render import can_be_written, render
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MismatchError
from mpiric.model.knob import Skip, Try
from mpiric.model.placement import ProcessSeen
from mpiric.model.situation import Observation, Situation

FREE = Configuration.of({"binding": "free"})


def neighbour(*cpus: int) -> ProcessSeen:
    return ProcessSeen(4711, 0, "/bin/other", (), cpus, job="launcher 4710")


def beside(*neighbours: ProcessSeen, library=MPIS[1], ranks: int = 2, cores: int = 4) -> Situation:
    """Return a job whose ranks were observed on the first cores, next to other jobs."""
    job = situation(library, ranks=ranks, on=machine(cores=cores))
    ranks_seen = tuple(rank(number, cpus=(number,)) for number in range(ranks))
    observation = Observation(1.0, ranks_seen, cpus=cores)
    return replace(job, observation=observation, read_neighbours=lambda: neighbours)


def answer(job: Situation) -> Skip | Try:
    return consider(knob_named("binding"), job)


def test_ranks_on_the_cpus_of_another_job_move_to_the_free_ones():
    tried = answer(beside(neighbour(0), neighbour(1)))
    assert isinstance(tried, Try)
    assert tried.values[0] == "free"
    assert "another job on this node" in tried.because


def test_the_free_cpus_must_suffice():
    assert "free" not in getattr(answer(beside(neighbour(0, 1, 2))), "values", ())


def test_jobs_that_are_not_bound_leave_all_cpus_free():
    job = beside(neighbour(0, 1, 2, 3))
    assert job.free_cpus == (0, 1, 2, 3)
    assert "free" not in getattr(answer(job), "values", ())


def test_the_launcher_is_restricted_and_binds_no_rank():
    for library in MPIS:
        job = beside(neighbour(0), neighbour(1), library=library)
        if can_be_written(FREE, job) and job.job.dialect in ("hydra", "openmpi4", "openmpi5"):
            argv = render(FREE, job).argv
            assert argv[:4] == ("taskset", "-c", "2-3", "mpiexec")
            assert "none" in argv


def test_without_a_free_cpu_the_reason_is_given():
    with pytest.raises(MismatchError, match="bound to all CPUs of this node"):
        render(FREE, beside(neighbour(0, 1), neighbour(2, 3)))


def test_a_scheduler_has_the_cpus_of_its_jobs():
    slurm = beside(neighbour(0))
    slurm = replace(slurm, job=replace(slurm.job, dialect="srun"))
    assert not can_be_written(FREE, slurm)
