from mpiric.machine.system import read_nics


def _net(name: str, **facts: str) -> dict[str, str]:
    return {f"/sys/class/net/{name}/{key}": value + "\n" for key, value in facts.items()}


def test_ethernet_tells_speed_mtu_and_state(host_with):
    files = _net("eth0", type="1", speed="25000", mtu="9000", operstate="up")
    (nic,) = read_nics(host_with(files, addresses={"eth0": ("192.0.2.7",)}))
    assert (nic.kind, nic.speed_mbit, nic.mtu, nic.up) == ("ethernet", 25000, 9000, True)
    assert nic.addresses == ("192.0.2.7",)


def test_an_unknown_speed_is_zero(host_with):
    (nic,) = read_nics(host_with(_net("eth0", type="1", speed="-1", mtu="1500", operstate="up")))
    assert nic.speed_mbit == 0


def test_an_adapter_is_listed_next_to_its_ip_interface(host_with):
    files = _net("ib0", type="32", mtu="2044", operstate="up") | {
        "/sys/class/infiniband/mlx5_0/ports/1/rate": "200 Gb/sec (4X HDR)\n",
        "/sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
        "/sys/class/infiniband/mlx5_0/ports/1/link_layer": "InfiniBand\n",
        "/sys/class/infiniband/mlx5_0/device/numa_node": "3\n",
    }
    ip, adapter = read_nics(host_with(files))
    assert (ip.kind, adapter.kind) == ("ipoib", "infiniband")
    assert (adapter.speed_mbit, adapter.up, adapter.numa_node) == (200_000, True, 3)


def test_an_adapter_on_ethernet_is_roce(host_with):
    files = {"/sys/class/infiniband/mlx5_1/ports/1/link_layer": "Ethernet\n"}
    assert read_nics(host_with(files))[0].kind == "roce"


def test_omni_path_is_known_by_its_device(host_with):
    files = {"/sys/class/infiniband/hfi1_0/ports/1/rate": "100 Gb/sec (4X EDR)\n"}
    assert read_nics(host_with(files))[0].kind == "omni-path"


def test_slingshot_is_known_by_its_driver(host_with):
    files = _net("hsn0", type="1", speed="200000", mtu="9000", operstate="up")
    links = {"/sys/class/net/hsn0/device/driver": "/sys/bus/pci/drivers/cxi_core"}
    assert read_nics(host_with(files, links=links))[0].kind == "slingshot"


def test_bridges_and_tunnels_are_virtual(host_with):
    files = _net("docker0", type="1", mtu="1500", operstate="down")
    links = {"/sys/class/net/docker0": "/sys/devices/virtual/net/docker0"}
    assert read_nics(host_with(files, links=links))[0].kind == "virtual"


def test_without_sysfs_no_nic_is_found(host_with):
    assert read_nics(host_with({})) == ()


def test_adapters_behind_the_verbs_interface_are_distinguished(host_with):
    """Names and drivers as the kernel's drivers of these adapters give them."""
    files = {
        "/sys/class/infiniband/qib0/ports/1/rate": "40 Gb/sec (4X QDR)\n",
        "/sys/class/infiniband/rdmap0s6/ports/1/state": "4: ACTIVE\n",
        "/sys/class/infiniband/cxgb4_0/node_type": "4: RNIC\n",
        "/sys/class/infiniband/cxgb4_0/ports/1/link_layer": "Ethernet\n",
    }
    links = {"/sys/class/infiniband/rdmap0s6/device/driver": "/sys/bus/pci/drivers/efa"}
    kinds = {nic.name: nic.kind for nic in read_nics(host_with(files, links=links))}
    assert kinds == {"qib0": "truescale", "rdmap0s6": "efa", "cxgb4_0": "iwarp"}
