"""Safe defaults in `mpiric run` and `mpiric doctor`."""

from dataclasses import replace

import pytest
from tests.support.situations import BY_LABEL, machine, situation

from mpiric.host.facts.local import LocalHost
from mpiric.model.job import Container, LaunchOption, Meaning
from mpiric.workflows.defaults import missed_defaults, with_safe_defaults

ETHERNET = replace(machine(), nics=machine().nics[:2])
HOST = LocalHost()


def case(label="openmpi-5.0.11", ranks=2, **more):
    return situation(BY_LABEL[label], ranks=ranks, on=ETHERNET, **more)


def test_the_launch_gets_the_variables_and_the_sentence_names_them():
    done = with_safe_defaults(case(), HOST)
    assert done.launch.environment["OMPI_MCA_mtl"] == "^ofi"
    assert done.launch.environment["OMP_NUM_THREADS"] == "1"
    assert "network-library=without-ofi" in done.sentence
    assert "--as-is" in done.sentence


def test_the_arguments_of_the_command_stay():
    assert with_safe_defaults(case(), HOST).launch.argv == case().job.argv


def test_an_option_of_the_launch_line_takes_precedence():
    option = LaunchOption(("--mca", "pml", "ucx"), Meaning.MPI_PARAMETER, ("pml", "ucx"))
    done = with_safe_defaults(case(options=(option,)), HOST)
    assert "OMPI_MCA_mtl" not in done.launch.environment


def test_a_variable_of_the_launch_line_takes_precedence():
    option = LaunchOption(("-x", "OMP_NUM_THREADS=2"), Meaning.ENVIRONMENT, ("OMP_NUM_THREADS", "2"))
    done = with_safe_defaults(case(options=(option,)), HOST)
    assert "OMP_NUM_THREADS" not in done.launch.environment


def test_an_unknown_number_of_ranks_has_no_defaults():
    job = case().job
    segments = tuple(replace(segment, options=()) for segment in job.segments)
    assert with_safe_defaults(replace(case(), job=replace(job, segments=segments)), HOST) is None


def test_a_program_in_a_container_has_no_defaults():
    job = replace(case().job, container=Container("apptainer", ("apptainer", "exec", "i.sif"), "i.sif"))
    assert with_safe_defaults(replace(case(), job=job), HOST) is None


def test_a_granted_number_of_cpus_limits_the_threads(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n1")
    monkeypatch.setenv("SLURM_JOB_CPUS_PER_NODE", "2")
    wide = situation(BY_LABEL["mpich-5.0.2"], ranks=2, on=replace(machine(cores=16), nics=ETHERNET.nics))
    assert with_safe_defaults(wide, HOST).launch.environment["OMP_NUM_THREADS"] == "1"


@pytest.mark.parametrize(
    ("label", "ranks", "knob"),
    [("mpich-5.0.2", 4, "default-waiting"), ("openmpi-5.0.11", 2, "default-network-library")],
)
def test_a_missed_default_is_a_finding_with_its_variables(label, ranks, knob):
    findings = {finding.id: finding for finding in missed_defaults(case(label, ranks), HOST)}
    assert "`mpiric run` sets it" in findings[knob].fix
    assert "measured" in findings[knob].evidence


def test_a_program_without_threads_has_no_finding_about_threads():
    assert "default-omp-threads" not in {finding.id for finding in missed_defaults(case(ranks=4), HOST)}
