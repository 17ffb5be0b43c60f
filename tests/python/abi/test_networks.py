"""A run is kept on one network by what its library is told."""

import pytest

from mpiric.abi.networks import networks_of


@pytest.mark.parametrize(
    ("interface", "transports", "netmod"),
    [
        ("eth0", ("ucx", "ofi", "shm"), "ucx"),
        ("lo", ("ucx", "ofi", "shm"), "ofi"),  # UCX reaches no peer through it
        ("lo", ("ucx", "shm"), "ucx"),
        ("eth0", ("ofi", "shm"), "ofi"),
    ],
)
def test_mpich_is_told_a_network_module_that_reaches_the_peers(
    interface: str, transports: tuple[str, ...], netmod: str
) -> None:
    network = networks_of([interface])[1]
    told = network.environment("mpich", transports) or {}
    assert told["MPIR_CVAR_CH4_NETMOD"] == netmod
