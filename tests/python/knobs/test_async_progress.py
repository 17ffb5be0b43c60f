"""The progress thread of the library: only where CPUs are free for it."""

from dataclasses import replace

from tests.support.behaviours import behaviour
from tests.support.situations import BY_LABEL, machine, situation

from mpiric.knobs import consider, knob_named
from mpiric.lab.render import completed, render
from mpiric.model.configuration import Configuration
from mpiric.model.knob import Skip, Try
from mpiric.model.situation import Situation

ON = Configuration.of({"async-progress": "on"})
MPICH = BY_LABEL["mpich-5.0.2"]


def case(cpus: int, ranks: int = 2, **numbers: float) -> Situation:
    job = situation(MPICH, ranks=ranks, on=machine(cores=cpus))
    recorded = {"large_nonblocking": 100.0, "wait_share": 0.3, **numbers}
    observation = replace(job.observation, behaviour=behaviour(mpi_bound=0.5, **recorded), cpus=cpus)
    return replace(job, observation=observation, least_share=0.01)


def answer(job: Situation) -> Skip | Try:
    return consider(knob_named("async-progress"), job)


def test_each_rank_needs_a_second_cpu():
    assert isinstance(answer(case(cpus=4)), Try)
    skipped = answer(case(cpus=3))
    assert isinstance(skipped, Skip)
    assert "no CPU is free" in skipped.reason


def test_small_messages_need_no_thread():
    assert isinstance(answer(case(cpus=4, large_nonblocking=0.0)), Skip)


def test_bound_ranks_are_unbound_for_the_thread():
    job = case(cpus=4)
    assert render(ON, job).environment["MPIR_CVAR_ASYNC_PROGRESS"] == "1"
    assert "binding" not in completed(ON, job).as_dict()
    bound = tuple(replace(rank, cpus_allowed=(n,)) for n, rank in enumerate(job.observation.ranks))
    bound_job = replace(job, observation=replace(job.observation, ranks=bound))
    assert completed(ON, bound_job).as_dict()["binding"] == "none"


def test_open_mpi_has_no_setting_for_it():
    job = replace(case(cpus=4), mpi=BY_LABEL["openmpi-5.0.11"])
    assert isinstance(answer(job), Skip)
