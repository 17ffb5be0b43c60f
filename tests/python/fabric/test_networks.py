"""Which transport belongs on which network: the table, and nodes made up in its words."""

import pytest

from mpiric.fabric.networks import best_network, kinds, misdriven
from mpiric.knobs import check_configuration
from mpiric.model.machine import Nic


def nic(name: str, kind: str, speed_mbit: int = 100_000, *, up: bool = True) -> Nic:
    return Nic(name, kind, speed_mbit, 1500, up=up, addresses=())


ETHERNET = nic("eth0", "ethernet", 25_000)


@pytest.mark.parametrize("kind", kinds().values(), ids=kinds())
def test_every_kind_has_a_source_and_chooses_by_values_that_knobs_have(kind):
    assert kind.source
    assert kind.native
    assert 0 < kind.share <= 1
    for values in kind.choose.values():
        assert check_configuration(values) == ()


@pytest.mark.parametrize("kind", kinds().values(), ids=kinds())
def test_native_transports_are_never_objected_to(kind):
    for pattern in kind.native:
        assert kind.objection(pattern.replace("*", "")) == ""


@pytest.mark.parametrize(
    ("device", "kind", "transport", "implementation", "choice"),
    [
        ("hfi1_0", "omni-path", "rc_verbs", "openmpi", "network-library=psm2"),
        ("hfi1_0", "omni-path", "ucx", "openmpi", "network-library=psm2"),
        ("hfi1_0", "omni-path", "tcp;ofi_rxm", "intelmpi", "ofi-provider=psm2"),
        ("qib0", "truescale", "openib", "openmpi", "network-library=ofi"),
        ("mlx5_0", "infiniband", "tcp", "openmpi", "network-library=ucx"),
        ("mlx5_0", "infiniband", "tcp;ofi_rxm", "intelmpi", "ofi-provider=mlx"),
        ("hsn0", "slingshot", "tcp;ofi_rxm", "openmpi", "network-library=ofi"),
        ("rdmap0s6", "efa", "ucx", "openmpi", "network-library=ofi"),
        ("mlx5_1", "roce", "tcp", "mpich", "network-library=ucx"),
        ("cxgb4_0", "iwarp", "tcp", "intelmpi", "ofi-provider=verbs"),
    ],
)
def test_an_inefficient_transport_is_reported_with_a_better_choice(
    device, kind, transport, implementation, choice
):
    finding = misdriven(transport, (ETHERNET, nic(device, kind)), implementation)
    assert finding is not None
    assert choice in finding.fix
    assert device in finding.evidence


@pytest.mark.parametrize(
    ("kind", "transport"),
    [
        ("omni-path", "psm2"),
        ("truescale", "psm"),
        ("infiniband", "rc_mlx5"),
        ("infiniband", "rc_mlx5, cma"),
        ("slingshot", "cxi"),
        ("slingshot", "shm+cxi:linkx"),
        ("efa", "efa"),
        ("roce", "dc_mlx5"),
        ("iwarp", "verbs;ofi_rxm"),
    ],
)
def test_the_right_transport_is_left_in_peace(kind, transport):
    assert misdriven(transport, (ETHERNET, nic("x", kind)), "openmpi") is None


def test_plain_ethernet_is_well_driven_by_tcp():
    assert misdriven("tcp", (ETHERNET,), "openmpi") is None


def test_an_adapter_without_link_does_not_count():
    assert best_network((ETHERNET, nic("mlx5_0", "infiniband", up=False))) == ETHERNET


def test_of_two_alike_the_faster_counts():
    slow, fast = nic("mlx5_0", "infiniband", 100_000), nic("mlx5_1", "infiniband", 200_000)
    assert best_network((slow, fast)) == fast
