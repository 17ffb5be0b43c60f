from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from tests.support.slurm_host import environment

from mpiric.host.host import Completed
from mpiric.model.errors import MpiricError
from mpiric.schedulers import schedulers


@dataclass
class Job:
    """Host of a job: its environment, files, and output of commands."""

    environ: Mapping[str, str]
    files: Mapping[str, str]

    def read_text(self, path):
        return self.files.get(path)

    def run(self, argv, **_):
        return Completed(0, self.files.get(argv[-1], ""), "")


def recognised(name, environ, files=None):
    return schedulers()[name].recognise(Job(environ, files or {}))


# A scheduler added to the registry needs a line here: environment and files of one of its jobs.
JOBS = {
    "local": ({}, {"/proc/sys/kernel/hostname": "vm\n", "/proc/self/status": "Cpus_allowed_list:\t0-3\n"}),
    "slurm": (environment("slurm-salloc.env"), {}),
    "pbs": (
        {"PBS_JOBID": "7.server", "PBS_NODEFILE": "/nodes", "NCPUS": "4", "PBS_QUEUE": "workq"},
        {"/nodes": "a1\na1\nb1\nb1\n"},
    ),
    "lsf": ({"LSB_JOBID": "9", "LSB_MCPU_HOSTS": "a1 2 b1 4", "LSB_QUEUE": "normal"}, {}),
    "flux": (
        {"FLUX_URI": "local:///run/flux/local", "FLUX_ENCLOSING_ID": "ƒ452vknj"},
        {
            "resource.R": '{"version":1,"execution":{"R_lite":[{"rank":"0-1","children":{"core":"0-3"}}],'
            '"nodelist":["a1,b1"]}}'
        },
    ),
}


@pytest.mark.parametrize("name", schedulers())
def test_every_scheduler_recognises_its_own_job(name):
    environ, files = JOBS[name]
    assert recognised(name, environ, files).scheduler == name


@pytest.mark.parametrize("name", [name for name in schedulers() if name != "local"])
@pytest.mark.parametrize("other", JOBS)
def test_no_scheduler_takes_the_job_of_another_for_its_own(name, other):
    environ, files = JOBS[other]
    assert name == other or recognised(name, environ, files) is None


@pytest.mark.parametrize("name", schedulers())
def test_every_scheduler_names_its_launcher(name):
    environ, files = JOBS[name]
    assert recognised(name, environ, files).launch_words


def test_salloc_gives_each_host_the_ranks_slurm_means_for_it():
    hosts = recognised("slurm", environment("slurm-salloc.env")).hosts
    assert [(host.name, host.slots) for host in hosts] == [("n1", 2), ("n2", 2), ("n3", 1)]


def test_salloc_gives_the_cpus_of_each_host():
    hosts = recognised("slurm", environment("slurm-salloc.env")).hosts
    assert [host.cpus for host in hosts] == [2, 2, 1]


def test_a_batch_script_knows_its_cpus_per_rank():
    assert recognised("slurm", environment("slurm-sbatch.env")).cpus_per_rank == 2


def test_within_a_step_the_whole_allocation_is_found():
    hosts = recognised("slurm", environment("slurm-step.env")).hosts
    assert [(host.name, host.slots) for host in hosts] == [("n1", 1), ("n2", 1)]


def test_the_number_of_restarts_is_known():
    environ = {**environment("slurm-sbatch.env"), "SLURM_RESTART_COUNT": "2"}
    assert recognised("slurm", environ).restarts == 2


def test_counts_of_another_job_are_an_error():
    environ = {**environment("slurm-salloc.env"), "SLURM_TASKS_PER_NODE": "2(x7)"}
    with pytest.raises(MpiricError, match="7 hosts, but the allocation has 3"):
        recognised("slurm", environ)


def test_pbs_counts_the_lines_of_each_host():
    hosts = recognised("pbs", *JOBS["pbs"]).hosts
    assert [(host.name, host.slots, host.cpus) for host in hosts] == [("a1", 2, 4), ("b1", 2, 4)]


def test_a_pbs_job_without_its_node_file_is_an_error_that_names_the_file():
    with pytest.raises(MpiricError, match="/nodes"):
        recognised("pbs", JOBS["pbs"][0])


def test_lsf_pairs_names_and_slots():
    hosts = recognised("lsf", *JOBS["lsf"]).hosts
    assert [(host.name, host.slots) for host in hosts] == [("a1", 2), ("b1", 4)]


def test_a_large_lsf_job_is_read_from_its_host_file():
    environ = {"LSB_JOBID": "9", "LSB_DJOB_HOSTFILE": "/hosts"}
    hosts = recognised("lsf", environ, {"/hosts": "a1\na1\nb1\n"}).hosts
    assert [(host.name, host.slots) for host in hosts] == [("a1", 2), ("b1", 1)]


def test_lsf_words_without_pairs_are_an_error():
    with pytest.raises(MpiricError, match="LSB_MCPU_HOSTS"):
        recognised("lsf", {"LSB_JOBID": "9", "LSB_MCPU_HOSTS": "a1 2 b1"})


def test_without_a_scheduler_this_machine_has_a_slot_for_each_usable_cpu():
    assert recognised("local", *JOBS["local"]).slots == 4
