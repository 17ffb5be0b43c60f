from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.situation import Tuner
from mpiric.workflows.policies import tuner_for


def test_an_mpi_that_only_a_run_will_show_has_no_tuner_yet():
    assert tuner_for(MpiLibrary("unknown", "", (), "", "", "", "", "", "")) == Tuner()
