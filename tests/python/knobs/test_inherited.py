"""Settings a user has inherited that do harm."""

from dataclasses import replace

import pytest
from tests.support.situations import BY_LABEL, MPIS, machine, situation
from tests.support.written_files import lustre

from mpiric.knobs import inherited_problems
from mpiric.model.job import LaunchOption, Meaning
from mpiric.model.profile import Behaviour

GOMP = "/usr/lib/libgomp.so.1"


def without_adapters():
    plain = machine()
    return replace(plain, nics=tuple(nic for nic in plain.nics if nic.kind != "infiniband"))


@pytest.mark.parametrize(
    ("label", "variable", "value", "expected"),
    [
        ("mpich-5.0.2", "MPIR_CVAR_NOLOCAL", "1", "shared-memory-off"),
        ("openmpi-4.1.4", "OMPI_MCA_btl", "tcp,self", "shared-memory-off"),
        ("openmpi-5.0.11", "OMPI_MCA_btl", "^sm", "shared-memory-off"),
        ("intelmpi-2021.19", "I_MPI_FABRICS", "ofi", "shared-memory-off"),
        ("mpich-5.0.2", "UCX_TLS", "tcp", "shared-memory-off"),
        ("intelmpi-2021.19", "FI_PROVIDER", "psm2", "provider-of-another-network"),
        ("intelmpi-2021.19", "FI_PROVIDER", "verbs;ofi_rxm", "provider-of-another-network"),
        ("openmpi-5.0.11", "UCX_TLS", "rc,sm,self", "stale-ucx-tls"),
        ("openmpi-5.0.11", "OMPI_MCA_btl_tcp_if_include", "eth7", "unknown-interface"),
        ("openmpi-5.0.11", "OMPI_MCA_btl", "openib,self,sm", "missing-component"),
        ("intelmpi-2021.19", "I_MPI_WAIT_MODE", "1", "waits-needlessly"),
        ("intelmpi-2021.19", "I_MPI_TUNING_MODE", "auto", "autotuner-on"),
        ("mpich-5.0.2", "GLIBC_TUNABLES", "glibc.malloc.hugetlb=2", "no-huge-pages-left"),
        ("mpich-5.0.2", "MKL_DEBUG_CPU_TYPE", "5", "mkl-debug-cpu-type"),
        ("mpich-5.0.2", "ROMIO_FSTYPE_FORCE", "ufs:/scratch", "forced-file-system-type"),
        ("mpich-5.0.2", "HDF5_USE_FILE_LOCKING", "FALSE", "hdf5-without-locks"),
        ("mpich-5.0.2", "UCX_LOG_LEVEL", "debug", "loud-library"),
        ("mpich-5.0.2", "OMP_NUM_THREADS", "8", "too-many-threads"),
    ],
)
def test_a_harmful_setting_is_found(label: str, variable: str, value: str, expected: str) -> None:
    case = situation(BY_LABEL[label], on=without_adapters(), inherited={variable: value}, libraries=(GOMP,))
    assert expected in {finding.id for finding in inherited_problems(case)}


def test_a_clean_environment_has_no_problems() -> None:
    for library in MPIS:
        assert inherited_problems(situation(library)) == ()


def test_a_setting_on_the_command_line_counts_as_well() -> None:
    forced = LaunchOption(("--mca", "btl", "tcp,self"), Meaning.MPI_PARAMETER, ("btl", "tcp,self"))
    case = situation(BY_LABEL["openmpi-4.1.4"], options=(forced,))
    assert [finding.id for finding in inherited_problems(case)] == ["shared-memory-off"]


def test_two_allocators_at_once_are_named_with_their_settings() -> None:
    case = situation(inherited={"MALLOC_ARENA_MAX": "1", "LD_PRELOAD": "/usr/lib/libjemalloc.so.2"})
    (finding,) = inherited_problems(case)
    assert finding.id == "two-allocators"
    assert "MALLOC_ARENA_MAX" in finding.evidence


def test_a_provider_of_an_existing_network_is_not_a_problem() -> None:
    case = situation(BY_LABEL["intelmpi-2021.19"], inherited={"FI_PROVIDER": "verbs"})
    assert inherited_problems(case) == ()


def test_waiting_politely_is_right_when_ranks_outnumber_cpus() -> None:
    case = situation(BY_LABEL["intelmpi-2021.19"], ranks=8, inherited={"I_MPI_WAIT_MODE": "1"})
    assert inherited_problems(case) == ()


def test_every_finding_has_evidence_and_a_fix() -> None:
    case = situation(
        inherited={"MKL_DEBUG_CPU_TYPE": "5", "UCX_LOG_LEVEL": "trace", "MPIR_CVAR_NOLOCAL": "1"}
    )
    problems = inherited_problems(case)
    assert len(problems) == 3
    assert all(finding.says and finding.evidence and finding.fix for finding in problems)


@pytest.mark.parametrize(
    ("mount", "libraries", "nodes", "expected"),
    [
        ({"is_writable": False}, (), 1, "mount-read-only"),
        ({"quota_free_bytes": 0}, (), 1, "quota-used-up"),
        ({"quota_free_bytes": 1 << 20}, (), 1, None),
        ({"locks": "none"}, ("/x/libhdf5.so.310",), 1, "mount-without-flock"),
        ({"locks": "this node"}, ("/x/libhdf5.so.310",), 2, "mount-without-flock"),
        ({"locks": "this node"}, ("/x/libhdf5.so.310",), 1, None),
        ({"locks": "none"}, (), 1, None),
        ({"locks": "all nodes"}, ("/x/libhdf5.so.310",), 2, None),
    ],
)
def test_a_mount_without_room_rights_or_locks_is_named(mount, libraries, nodes, expected) -> None:
    case = situation(libraries=libraries, nodes=nodes)
    case = replace(case, machine=replace(case.machine, file_systems=(lustre(**mount),)))
    assert [finding.id for finding in inherited_problems(case)] == ([expected] if expected else [])


@pytest.mark.parametrize(("calls", "expected"), [(0, []), (3, ["mount-without-flock"])])
def test_a_program_that_could_write_through_mpi_but_does_not_needs_no_locks(calls, expected) -> None:
    case = situation(on=replace(machine(), file_systems=(lustre(locks="none"),)))
    recorded = Behaviour({"independent_file_calls": calls})
    observation = replace(case.observation, mpi_calls=frozenset({"mpi_file_write_at"}), behaviour=recorded)
    case = replace(case, observation=observation)
    assert [finding.id for finding in inherited_problems(case)] == expected


@pytest.mark.parametrize(("modules", "is_found"), [(12, ["imports-from-network"]), (3, [])])
def test_pythons_imports_from_a_shared_file_system_are_offered_an_image(modules, is_found) -> None:
    paths = (
        "/usr/lib/libpython3.11.so.1",
        *(f"/home/u/venv/lib/m{number}.cpython-311.so" for number in range(modules)),
    )
    case = situation(libraries=paths)
    case = replace(case, machine=replace(case.machine, file_systems=(lustre(locks="all nodes"),)))
    assert [finding.id for finding in inherited_problems(case)] == is_found
