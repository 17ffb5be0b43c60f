"""Providers of libfabric and components for collectives that versions of the libraries have."""

from dataclasses import replace

import pytest
from tests.support.situations import BY_LABEL, machine, mpi, situation

from mpiric.knobs import consider, inherited_problems, knob_named
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.knob import Try
from mpiric.model.machine import Nic
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.situation import EVERYTHING, Situation


def on_network(library: MpiLibrary, kind: str) -> Situation:
    adapter = Nic("adapter", kind, 100_000, 4092, up=True, addresses=())
    node = machine(2, 8)
    return situation(library, ranks=32, on=replace(node, nics=(adapter,)), nodes=2)


def values(name: str, case: Situation) -> tuple[str, ...]:
    answer = consider(knob_named(name), case)
    return answer.values if isinstance(answer, Try) else ()


@pytest.mark.parametrize(
    ("version", "kind", "expected"),
    [
        ("2021.18.1", "omni-path", {"psm2", "tcp"}),
        ("2021.19.0", "omni-path", {"opx", "tcp"}),
        ("2021.18.1", "infiniband", {"verbs", "psm3", "mlx", "tcp"}),
        ("2021.19.0", "infiniband", {"verbs", "ucx", "tcp"}),
    ],
)
def test_intel_mpi_is_offered_the_providers_that_its_version_ships(version, kind, expected):
    assert set(values("ofi-provider", on_network(mpi("intelmpi", version), kind))) == expected


def test_a_provider_that_intel_mpi_has_dropped_is_reported():
    case = situation(mpi("intelmpi", "2021.19.0"), inherited={"I_MPI_OFI_PROVIDER": "psm3"})
    problem = next(problem for problem in inherited_problems(case) if problem.id == "missing-component")
    assert problem.says == "Intel MPI 2021.19.0 has no provider component psm3"
    older = situation(mpi("intelmpi", "2021.18.0"), inherited={"I_MPI_OFI_PROVIDER": "psm3"})
    assert "missing-component" not in [problem.id for problem in inherited_problems(older)]


def test_open_mpi_on_slingshot_may_join_shared_memory_with_the_adapter():
    case = on_network(BY_LABEL["openmpi-5.0.11"], "slingshot")
    assert "lnx" in values("ofi-provider", case)
    written = render(Configuration.of({"ofi-provider": "lnx"}), case).environment
    assert written["FI_LNX_PROV_LINKS"] == "shm+cxi"
    assert "lnx" not in values("ofi-provider", on_network(BY_LABEL["mpich-5.0.2"], "slingshot"))


def with_vendor(case: Situation, vendor: str) -> Situation:
    return replace(case, machine=replace(case.machine, cpu=replace(case.machine.cpu, vendor=vendor)))


def test_acoll_is_for_many_ranks_on_amd_processors():
    many = situation(mpi("openmpi", "6.0.0"), ranks=32, on=machine(2, 16), allowed=EVERYTHING)
    assert "acoll" in values("collective-component", with_vendor(many, "AuthenticAMD"))
    assert "acoll" not in values("collective-component", with_vendor(many, "GenuineIntel"))
    few = situation(mpi("openmpi", "6.0.0"), ranks=8, on=machine(2, 16), allowed=EVERYTHING)
    assert "acoll" not in values("collective-component", with_vendor(few, "AuthenticAMD"))


def test_ucc_is_offered_where_it_is_linked():
    linked = situation(mpi("openmpi", "6.0.0"), libraries=("/opt/ucc/lib/libucc.so.1",), allowed=EVERYTHING)
    assert "ucc" in values("collective-component", linked)
    written = render(Configuration.of({"collective-component": "ucc"}), linked).environment
    assert written["OMPI_MCA_coll_ucc_enable"] == "1"
    assert "ucc" not in values("collective-component", replace(linked, observation=situation().observation))
