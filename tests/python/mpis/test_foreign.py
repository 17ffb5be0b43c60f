"""Settings of another MPI library than the one in use."""

import pytest
from tests.support.situations import BY_LABEL, MPIS

from mpiric.mpis import foreign_settings, implementations


def test_settings_of_another_library_are_named():
    (finding,) = foreign_settings({"I_MPI_FABRICS": "ofi"}, BY_LABEL["mpich-5.0.2"])
    assert finding.id == "settings-of-another-mpi"
    assert finding.evidence == "I_MPI_FABRICS"


@pytest.mark.parametrize("library", MPIS, ids=lambda library: library.label)
def test_settings_of_the_library_itself_are_not_foreign(library):
    implementation = implementations()[library.implementation]
    assert not foreign_settings(
        dict.fromkeys((f"{implementation.prefix or 'MPICH_'}X", "UCX_TLS"), "1"), library
    )


@pytest.mark.parametrize("label", ["intelmpi-2021.19", "mvapich-3.0", "craympich-8.1.28"])
def test_derivatives_of_mpich_obey_its_settings(label):
    assert not foreign_settings({"MPIR_CVAR_NOLOCAL": "1"}, BY_LABEL[label])
