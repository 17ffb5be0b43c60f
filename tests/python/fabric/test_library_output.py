"""Output of libraries about their transports, recorded or transcribed: see tests/data/fabric/README.md."""

from pathlib import Path

import pytest
from tests.support.connections import transports_in

from mpiric.fabric.probe import asking
from mpiric.model.fabric import PairClass
from mpiric.mpis import ask_connections

DATA = Path(__file__).parents[2] / "data/fabric"
NODE, OTHER = PairClass.SAME_NUMA, PairClass.OTHER_NODE


def recorded(name: str, implementation: str):
    return transports_in((DATA / f"{name}.txt").read_text(), implementation)


@pytest.mark.parametrize(
    ("name", "implementation", "layer", "node", "other", "devices"),
    [
        (
            "mpich-5.0-ucx-two-networks",
            "mpich",
            "ch4, netmod ucx, UCX 1.20.1",
            "shared memory",
            "tcp",
            ("eth0", "fast0"),
        ),
        (
            "mpich-5.0-ofi-two-networks",
            "mpich",
            "ch4, netmod ofi, libfabric",
            "shared memory",
            "sockets",
            (),
        ),
        ("openmpi-5.0-two-networks", "openmpi", "pml ob1", "sm", "tcp", ("eth0", "fast0")),
        (
            "openmpi-5.0-ucx-two-networks",
            "openmpi",
            "pml ucx, UCX 1.20.1",
            "sysv, cma",
            "tcp",
            ("eth0", "fast0"),
        ),
        (
            "intelmpi-2021.19-two-networks",
            "intelmpi",
            "fabrics shm:ofi",
            "shared memory",
            "tcp;ofi_rxm",
            ("fast0",),
        ),
    ],
)
def test_layer_transport_and_device_are_read(name, implementation, layer, node, other, devices):
    report = recorded(name, implementation)
    assert report.layer == layer
    assert report.paths[NODE].transport == node
    assert (report.paths[OTHER].transport, report.paths[OTHER].devices) == (other, devices)


def test_the_adapter_of_infiniband_is_named_with_its_port():
    report = recorded("ucx-infiniband", "openmpi")
    assert (report.paths[OTHER].transport, report.paths[OTHER].devices) == ("rc_mlx5", ("mlx5_0:1",))
    assert any("UCX_TLS=rc_x,self,sm" in why for why in report.why)
    assert not any("spreads" in why for why in report.why)


def test_older_ucx_leaves_no_space_before_the_lanes():
    assert recorded("ucx-1.14-no-space", "mpich").paths[NODE].transport == "sysv, cma"


def test_ucx_tells_the_protocol_and_the_lane_of_every_size():
    (why,) = recorded("ucx-1.20-protocols-two-hosts", "mpich").why
    assert "0..8184 bytes eager short tcp/eth0" in why
    assert why.endswith("256K..inf bytes rendezvous zero-copy fenced write to remote tcp/eth0")


def test_both_adapters_of_a_rendezvous_are_named():
    report = recorded("ucx-protocols-two-adapters", "openmpi")
    assert report.paths[OTHER].devices == ("mlx5_0:1", "mlx5_2:1")
    assert "50% on rc_mlx5/mlx5_0:1 and 50% on rc_mlx5/mlx5_2:1" in report.why[0]
    assert "spreads" in report.why[1]


def test_open_mpi_reports_priority_unusable_parts_and_striping():
    why = recorded("openmpi-5.0-two-networks", "openmpi").why
    assert why[0] == "pml ob1 has the highest priority, 20"
    assert "ofi" in why[1]
    assert why[2].endswith("eth0 10000 Mbit/s, fast0 10000 Mbit/s")


def test_a_latency_set_for_open_mpi_is_reported():
    output = "select: component ob1 selected\nselected ob1 best priority 20\n" + "".join(
        f"[n1:1] btl:tcp: 0x1: if {name} kidx 2 cnt 0 addr 10.0.0.1 IPv4 bw 10000 lt {latency}\n"
        for name, latency in (("slow0", 1), ("quick0", 100))
    )
    assert (
        "small messages go over slow0: its latency is set to 1 (quick0 100)"
        in transports_in(output, "openmpi").why
    )


def test_mpich_tells_how_it_rates_providers_and_which_are_rejected():
    why = recorded("mpich-5.0-ofi-two-networks", "mpich").why
    assert "sockets is selected: score 5, preference 0" in why
    assert "libfabric's provider verbs is rejected: no data available" in why


def test_cray_mpich_names_provider_and_adapters():
    """Made up in the words of intro_mpi(3): no recording of it is at hand."""
    output = "PE 0: MPICH OFI provider: cxi\nPE 0: MPICH NIC selection: rank 0 uses domain cxi0\n"
    report = transports_in(output, "craympich")
    assert (report.paths[OTHER].transport, report.paths[OTHER].devices) == ("cxi", ("cxi0",))


@pytest.mark.parametrize("implementation", ["mpich", "openmpi", "intelmpi", "craympich", "mvapich"])
def test_a_program_that_says_nothing_of_it_gives_no_words(implementation):
    report = transports_in("provider of happiness\n3 iterations\nselected 4 best of 5\n", implementation)
    assert not report.layer
    assert not report.paths


def test_each_library_is_asked_by_its_own_variables():
    assert ask_connections("intelmpi") == {"I_MPI_DEBUG": "5"}
    assert "MPIR_CVAR_DEBUG_SUMMARY" in ask_connections("mpich")
    assert ask_connections("craympich") == {"MPICH_OFI_VERBOSE": "1", "MPICH_OFI_NIC_VERBOSE": "1"}


def test_the_layers_below_are_asked_too():
    assert asking() == {"FI_LOG_LEVEL": "info", "UCX_LOG_LEVEL": "info", "UCX_PROTO_INFO": "y"}
