"""Networks that are not available for tests: trees of their drivers in sysfs, and output of libraries.

The trees follow the kernel's drivers (Documentation/ABI/stable/sysfs-class-infiniband). The output is
transcribed from the named discussions, or composed from the message formats in the library's source.
"""

from dataclasses import dataclass, field

import pytest
from tests.support.connections import transports_in
from tests.support.replay_host import Recording, ReplayHost

from mpiric.fabric.networks import best_network, kinds, misdriven
from mpiric.fabric.probe import carriers, contradiction
from mpiric.machine.system import read_nics
from mpiric.model.fabric import Moved, PairClass, TransportPath

NODE, OTHER = PairClass.SAME_NUMA, PairClass.OTHER_NODE
MANAGEMENT = {"type": "1", "speed": "1000", "mtu": "1500", "operstate": "up"}


def adapter(name: str, rate: str, link: str = "InfiniBand", node_type: str = "1: CA") -> dict[str, str]:
    base = f"/sys/class/infiniband/{name}"
    return {
        f"{base}/node_type": f"{node_type}\n",
        f"{base}/ports/1/state": "4: ACTIVE\n",
        f"{base}/ports/1/rate": f"{rate}\n",
        f"{base}/ports/1/link_layer": f"{link}\n",
    }


def interface(name: str, **facts: str) -> dict[str, str]:
    return {f"/sys/class/net/{name}/{key}": f"{value}\n" for key, value in facts.items()}


@dataclass(frozen=True)
class Node:
    """A node with a management network and another network: its kind, and the source of the facts."""

    kind: str
    files: dict[str, str]
    links: dict[str, str] = field(default_factory=dict)

    def nics(self):
        files = interface("eno1", **MANAGEMENT) | self.files
        addresses = {"eno1": ("192.0.2.1",)}
        return read_nics(ReplayHost(Recording(files=files, links=self.links, addresses=addresses)))


IPOIB = interface("ib0", type="32", mtu="2044", operstate="up")
NODES = {
    "ConnectX-6": Node("infiniband", adapter("mlx5_0", "200 Gb/sec (4X HDR)") | IPOIB),
    "ConnectX on Ethernet": Node("roce", adapter("mlx5_1", "100 Gb/sec (4X EDR)", "Ethernet")),
    "Omni-TransportPath": Node("omni-path", adapter("hfi1_0", "100 Gb/sec (4X EDR)") | IPOIB),
    "TrueScale": Node("truescale", adapter("qib0", "40 Gb/sec (4X QDR)") | IPOIB),
    "Chelsio": Node("iwarp", adapter("cxgb4_0", "40 Gb/sec (4X QDR)", "Ethernet", "4: RNIC")),
    "Intel E810 in iWARP mode": Node("iwarp", adapter("irdma0", "100 Gb/sec", "Ethernet", "4: RNIC")),
    "EFA": Node(
        "efa",
        adapter("rdmap0s6", "100 Gb/sec (4X EDR)", "Unspecified", "1: CA"),
        {"/sys/class/infiniband/rdmap0s6/device/driver": "/sys/bus/pci/drivers/efa"},
    ),
    "Slingshot 11": Node(
        "slingshot",
        interface("hsn0", type="1", speed="200000", mtu="9000", operstate="up"),
        {"/sys/class/net/hsn0/device/driver": "/sys/bus/pci/drivers/cxi_ss1"},
    ),
}

OB1 = "select: component ob1 selected\nselected ob1 best priority 20\n"
SUMMARY = (
    "Connection summary: (btl)\n  on-host:  all connections are sm\n  off-host: all connections are {}\n"
)
UCX = "[1.0] [n1:1:0] ucp_worker.c:1855 UCX  INFO  mpi {} cfg#2 tag({})\n"
CM = "mca:base:select:(  mtl) Selected component [{}]\nselected cm best priority {}\n"
OFI = "[n1:1] mtl_ofi_component.c:347: mtl:ofi:provider: {}\n"
INTEL = "[0] MPI startup(): libfabric version: 1.18.1-impi\n[0] MPI startup(): libfabric provider: {}\n"

GOOD = [
    ("ConnectX-6", "openmpi", UCX.format("inter-node", "rc_mlx5/mlx5_0:1"), "rc_mlx5"),
    ("ConnectX-6", "openmpi", UCX.format("inter-node", "dc_mlx5/mlx5_0:1"), "dc_mlx5"),
    ("ConnectX-6", "mpich", UCX.format("inter-node", "ud_verbs/mlx5_0:1"), "ud_verbs"),
    ("ConnectX-6", "intelmpi", INTEL.format("mlx"), "mlx"),
    ("ConnectX on Ethernet", "openmpi", UCX.format("inter-node", "rc_mlx5/mlx5_1:1"), "rc_mlx5"),
    ("Omni-TransportPath", "openmpi", CM.format("psm2", 40), "psm2"),
    ("Omni-TransportPath", "intelmpi", INTEL.format("psm2"), "psm2"),
    ("TrueScale", "openmpi", CM.format("psm", 30), "psm"),
    ("Chelsio", "intelmpi", INTEL.format("verbs;ofi_rxm"), "verbs;ofi_rxm"),
    ("EFA", "intelmpi", INTEL.format("efa"), "efa"),
    ("Slingshot 11", "craympich", "PE 0: MPICH OFI provider: cxi, adapter cxi0\n", "cxi"),
]
BAD = [
    # Guix: UCX's priority of 51 is above PSM2's 40, and UCX has emulated verbs only on Omni-TransportPath.
    ("Omni-TransportPath", "openmpi", UCX.format("inter-node", "rc_verbs/hfi1_0:1"), "network-library=psm2"),
    ("Omni-TransportPath", "openmpi", OB1 + SUMMARY.format("openib"), "network-library=psm2"),  # ompi 7107
    ("Omni-TransportPath", "intelmpi", INTEL.format("tcp;ofi_rxm"), "ofi-provider=psm2"),
    ("Omni-TransportPath", "intelmpi-2021.19.0", INTEL.format("tcp;ofi_rxm"), "ofi-provider=opx"),
    ("Omni-TransportPath", "mpich", UCX.format("inter-node", "rc_verbs/hfi1_0:1"), "ofi-provider=psm2"),
    ("TrueScale", "openmpi", OB1 + SUMMARY.format("openib"), "network-library=ofi"),  # ompi 1035
    ("ConnectX-6", "openmpi", OB1 + SUMMARY.format("tcp"), "network-library=ucx"),
    ("ConnectX on Ethernet", "intelmpi", INTEL.format("tcp;ofi_rxm"), "ofi-provider=mlx"),
    ("ConnectX on Ethernet", "intelmpi-2021.19.0", INTEL.format("tcp;ofi_rxm"), "ofi-provider=ucx"),
    ("Chelsio", "intelmpi", INTEL.format("tcp;ofi_rxm"), "ofi-provider=verbs"),
    ("EFA", "openmpi", UCX.format("inter-node", "tcp/eth0"), "network-library=ofi"),  # ompi 9858
    ("EFA", "intelmpi", INTEL.format("tcp;ofi_rxm"), "ofi-provider=efa"),
    ("Slingshot 11", "openmpi", OB1 + SUMMARY.format("tcp"), "network-library=ofi"),
]


@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
def test_the_network_is_known_and_goes_before_the_management_network(node):
    best = best_network(node.nics())
    assert best is not None
    assert best.kind == node.kind
    assert best.speed_mbit >= 40_000


@pytest.mark.parametrize(("name", "implementation", "output", "transport"), GOOD)
def test_suitable_transport_is_recognised_without_a_finding(name, implementation, output, transport):
    path = transports_in(output, implementation).paths[OTHER]
    assert path.transport == transport
    nics = NODES[name].nics()
    assert kinds()[NODES[name].kind].is_native(path.transport)
    assert misdriven(path.transport, nics, implementation) is None


@pytest.mark.parametrize(("name", "library", "output", "choice"), BAD)
def test_wrong_transport_is_reported_with_a_fix(name, library, output, choice):
    path = transports_in(output, library.partition("-")[0]).paths[OTHER]
    finding = misdriven(path.transport, NODES[name].nics(), library)
    assert finding is not None
    assert choice in finding.fix
    assert NODES[name].kind in finding.says


def test_open_mpi_on_efa_names_the_provider_of_its_ofi_mtl():
    report = transports_in(CM.format("ofi", 25) + OFI.format("efa"), "openmpi")
    assert (report.layer, report.provider) == ("pml cm, mtl ofi", "efa")


def test_xpmem_is_recognised_as_the_transport_on_the_node():
    path = transports_in(UCX.format("intra-node", "sysv/memory xpmem/memory"), "openmpi").paths[NODE]
    assert path.transport == "sysv, xpmem"


def test_bytes_that_bypass_the_kernel_show_in_the_counters_of_the_adapter():
    moved = Moved(payload_bytes=1_000_000, devices={"mlx5_0": 1_030_000, "eno1": 400})
    assert list(carriers(moved, ())) == ["mlx5_0"]
    assert contradiction(TransportPath("rc_mlx5", ("mlx5_0:1",)), carriers(moved, ())) == ""


def test_an_adapter_that_is_named_and_idle_is_a_contradiction():
    moved = Moved(payload_bytes=1_000_000, devices={"mlx5_0": 0, "ib0": 1_200_000})
    finding = contradiction(TransportPath("rc_mlx5", ("mlx5_0:1",)), carriers(moved, ()))
    assert finding == "the library says mlx5_0, but the bytes went over ib0"
