"""Transport of messages: reported by the library, or derived from loaded libraries and settings."""

import pytest
from tests.support.situations import BY_LABEL, situation

from mpiric.knobs import carriers

UCX = ("/usr/lib/libucp.so.0",)
BOTH, NETWORK, NONE = frozenset({"node", "network"}), frozenset({"network"}), frozenset[str]()


@pytest.mark.parametrize(
    ("label", "libraries", "inherited", "reported", "reaches"),
    [
        ("mpich-4.0.2", UCX, {}, "", NETWORK),  # ch4 uses its own shared memory inside a node
        ("mpich-4.0.2", UCX, {"MPIR_CVAR_NOLOCAL": "1"}, "", BOTH),
        ("mpich-4.0.2", (), {}, "", NONE),
        ("openmpi-5.0.11", UCX, {}, "ucx", BOTH),
        ("openmpi-5.0.11", UCX, {}, "ob1 over self sm tcp", NONE),
        ("openmpi-5.0.11", UCX, {}, "cm over ofi", NETWORK),
        ("openmpi-4.1.4", UCX, {}, "", BOTH),
        ("openmpi-4.1.4", (*UCX, "/x/mca_pml_ob1.so"), {}, "", NETWORK),
        ("openmpi-4.1.4", (*UCX, "/x/mca_pml_ucx.so"), {}, "", BOTH),
    ],
)
def test_ucx_is_assumed_as_carrier_without_other_evidence(label, libraries, inherited, reported, reaches):
    job = situation(BY_LABEL[label], libraries=libraries, inherited=inherited)
    assert carriers(job, reported).ucx == reaches


def test_collectives_in_shared_memory_use_no_messages_by_default():
    names = {"allreduce", "barrier", "bcast", "reduce"}
    assert carriers(situation(BY_LABEL["mpich-5.0.2"]), "").without_messages == names
    inheriting = situation(
        BY_LABEL["mpich-5.0.2"], inherited={"MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM": "mpir"}
    )
    assert carriers(inheriting, "").without_messages == names - {"bcast"}
    assert not carriers(situation(BY_LABEL["openmpi-5.0.11"]), "").without_messages
