"""Findings on a container, from the view of two ranks in it."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.support.situations import machine

from mpiric.host.packaged import packaged_table
from mpiric.launchers import parse_command
from mpiric.launchers.containers import engines
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.workflows.launch.findings import Inside, findings_inside
from mpiric.workflows.launch.parse_job import ParsedJob

HERE = replace(machine(), nics=())
MPICH = MpiLibrary(
    "mpich", "5.0.2", (AbiFamily.MPICH,), "/m", "/m/lib/libmpi.so.12", "libmpi.so.12", "", "", ""
)
RANK = {"user": "user:[1]", "shm": "27:1", "variables": "PMI_RANK"}
LOADS = ("libmpi.so.12 => /usr/lib/libmpi.so.12 (0x7f)",)
WELL = Inside((RANK, RANK), LOADS, ())


def fixes_by_finding(
    inside: Inside, parsed_machine=HERE, options: tuple[str, ...] = (), **environment: str
) -> Mapping[str, str]:
    """Finding → fix, under MPICH's mpiexec with Charliecloud."""
    line = ("mpiexec", *options, "-n", "4", "ch-run", "/img", "--", "./app")
    job = parse_command(line, "/tmp", environment, dialect="hydra")
    assert job.container is not None
    parsed = ParsedJob(job, parsed_machine, MPICH, ())
    return {finding.id: finding.fix for finding in findings_inside(parsed, job.container, inside, "27:1")}


def test_a_container_that_shares_all_of_the_host_is_well():
    assert fixes_by_finding(WELL) == {}


def test_a_user_namespace_for_each_rank_cuts_cma_off():
    fix = fixes_by_finding(replace(WELL, ranks=(RANK, {**RANK, "user": "user:[2]"})))["container-cma"]
    assert fix.startswith("ch-run --join")
    assert "MPIR_CVAR_CH4_CMA_ENABLE=0" in fix


@pytest.mark.parametrize(("options", "ids"), [(("-ppn", "1"), set()), (("-ppn", "2"), {"container-cma"})])
def test_cma_does_not_matter_to_a_rank_that_is_alone_on_its_node(options, ids):
    apart = replace(WELL, ranks=(RANK, {**RANK, "user": "user:[2]"}))
    assert set(fixes_by_finding(apart, options=options)) == ids


def test_a_shared_memory_of_its_own_is_noticed():
    assert set(fixes_by_finding(replace(WELL, ranks=({**RANK, "shm": "99:1"},) * 2))) == {"container-shm"}


def test_ranks_without_their_launchers_variables_are_singletons():
    assert set(fixes_by_finding(replace(WELL, ranks=({**RANK, "variables": ""},) * 2))) == {
        "container-singletons"
    }


def test_ranks_with_lost_variables_are_not_singletons():
    lost = {key: value for key, value in RANK.items() if key != "variables"}
    assert fixes_by_finding(replace(WELL, ranks=(lost, lost))) == {}


def test_a_program_of_another_abi_than_the_launchers_is_noticed():
    fix = fixes_by_finding(replace(WELL, linker=("libmpi.so.40 => not found",)))["container-abi"]
    assert "openmpi family" in fix


@pytest.mark.parametrize("name", ["libmpi.so.1", "libmpich.so.10"])
def test_a_program_with_an_older_abi_than_all_launchers_is_reported(name):
    fix = fixes_by_finding(replace(WELL, linker=(f"{name} => /usr/lib/{name} (0x7f)",)))["container-abi"]
    assert "with the image's launcher" in fix


NEWER = "/mnt/0/lib/libmpi.so.12: /lib/libc.so.6: version `GLIBC_2.34' not found (required by {})"


def test_a_library_of_the_host_in_an_older_image_is_noticed():
    fix = fixes_by_finding(replace(WELL, linker=(*LOADS, NEWER.format("/mnt/0/lib/libmpi.so.12"))))[
        "container-glibc"
    ]
    assert "glibc 2.34 or newer" in fix


@pytest.mark.parametrize(
    "line",
    [
        "ERROR: ld.so: object '/s/x.so' from LD_PRELOAD cannot be preloaded (cannot open …): ignored.",
        NEWER.format("/s/x.so"),
    ],
)
def test_a_preload_of_the_site_that_breaks_the_image_is_noticed(line):
    inside = replace(WELL, ranks=(), messages=(line,))
    assert fixes_by_finding(inside, LD_PRELOAD="/s/x.so") == {
        "container-preload": "ch-run --unset-env=LD_PRELOAD"
    }


def test_a_network_that_is_not_reached_from_inside_is_noticed():
    assert set(fixes_by_finding(WELL, machine())) == {"container-tcp"}
    reached = {**RANK, "devices": "uverbs0", "verbs": "/usr/lib/libibverbs.so.1"}
    assert fixes_by_finding(replace(WELL, ranks=(reached, reached)), machine()) == {}


def test_fixes_belong_to_existing_engines():
    for texts in packaged_table("workflows/launch/containers").values():
        assert set(texts["fix"]) <= {"any", *engines()}
        assert "any" in texts["fix"]
