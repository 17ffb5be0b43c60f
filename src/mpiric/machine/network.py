"""Network interfaces and RDMA devices, from /sys/class."""

import re

from mpiric.host.host import Host
from mpiric.model.amount import number_of
from mpiric.model.machine import Nic

_NET = "/sys/class/net"
_RDMA = "/sys/class/infiniband"

# ARPHRD_* numbers of <linux/if_arp.h>.
_TYPES = {"1": "ethernet", "32": "ipoib", "772": "loopback"}


def read_nics(host: Host) -> tuple[Nic, ...]:
    """Return the interfaces of the kernel's network stack, then the RDMA devices."""
    addresses = host.addresses()
    interfaces = tuple(_interface(host, name, addresses.get(name, ())) for name in host.list_dir(_NET))
    devices = tuple(_rdma_device(host, name) for name in host.list_dir(_RDMA))
    return tuple(nic for nic in interfaces if nic.kind) + devices


def _interface(host: Host, name: str, addresses: tuple[str, ...]) -> Nic:
    def text(part: str) -> str:
        return (host.read_text(f"{_NET}/{name}/{part}") or "").strip()

    kind = _TYPES.get(text("type"), "")
    if kind == "ethernet":
        kind = _ethernet_kind(host, name)
    speed = text("speed")
    return Nic(
        name=name,
        kind=kind,
        speed_mbit=number_of(speed),  # -1 or unreadable if the kernel does not know it
        mtu=number_of(text("mtu")),
        # Loopback and tunnels report "unknown" although they carry traffic.
        up=text("operstate") in {"up", "unknown"},
        addresses=addresses,
        numa_node=_node(text("device/numa_node")),
    )


def _ethernet_kind(host: Host, name: str) -> str:
    driver = host.real_path(f"{_NET}/{name}/device/driver").rpartition("/")[2]
    if driver.startswith("cxi"):
        return "slingshot"
    return "virtual" if "/devices/virtual/" in host.real_path(f"{_NET}/{name}") else "ethernet"


def _rdma_device(host: Host, name: str) -> Nic:
    def text(part: str) -> str:
        return (host.read_text(f"{_RDMA}/{name}/{part}") or "").strip()

    rate = re.match(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) Gb/sec", text("ports/1/rate"))
    link = text("ports/1/link_layer")
    return Nic(
        name=name,
        kind=_rdma_kind(
            name, host.real_path(f"{_RDMA}/{name}/device/driver").rpartition("/")[2], text("node_type"), link
        ),
        speed_mbit=int(float(rate[1]) * 1000) if rate else 0,
        mtu=0,
        up="ACTIVE" in text("ports/1/state"),
        addresses=(),
        numa_node=_node(text("device/numa_node")),
    )


def _rdma_kind(name: str, driver: str, node_type: str, link: str) -> str:
    """Return the kind of an adapter; adapters with the kernel's verbs interface need different libraries."""
    if name.startswith("hfi1"):
        return "omni-path"
    if name.startswith("qib"):
        return "truescale"
    if driver == "efa" or name.startswith("efa"):
        return "efa"
    if "RNIC" in node_type:
        return "iwarp"
    return "roce" if link == "Ethernet" else "infiniband"


def _node(text: str) -> int:
    return number_of(text, -1)
