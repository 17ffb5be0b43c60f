"""A run is kept on one network by the variables of its library."""

import pytest

from mpiric.abi import networks_of
from mpiric.model.mpi_library import MpiLibrary
from mpiric.mpis import with_capabilities


@pytest.mark.parametrize(
    ("interface", "transports", "netmod"),
    [
        ("eth0", ("ucx", "ofi", "shm"), "ucx"),
        ("lo", ("ucx", "ofi", "shm"), "ofi"),  # UCX reaches no peer through it
        ("lo", ("ucx", "shm"), "ucx"),
        ("eth0", ("ofi", "shm"), "ofi"),
    ],
)
def test_mpich_gets_a_network_module_that_reaches_the_peers(
    interface: str, transports: tuple[str, ...], netmod: str
) -> None:
    network = networks_of([interface])[1]
    library = MpiLibrary("mpich", "5.0.2", (), "", "", "", "", "", "", transports)
    variables = network.environment(with_capabilities(library)) or {}
    assert variables["MPIR_CVAR_CH4_NETMOD"] == netmod
