"""The modulefile of a stand-in reaches the ranks of every host."""

from pathlib import Path

from tests.support.situations import BY_LABEL

from mpiric.model.mpi_library import AbiFamily
from mpiric.workflows import mpi


def lines(label: str, family: AbiFamily, place: Path) -> list[str]:
    return mpi._module(place, str(place / "libmpi.so"), family, BY_LABEL[label]).splitlines()


def test_open_mpi_gets_the_variables_for_other_hosts(tmp_path: Path) -> None:
    module_lines = lines("openmpi-5.0.11", AbiFamily.MPICH, tmp_path)
    listed = [line.split()[-1] for line in module_lines if "OMPI_MCA_mca_base_env_list" in line]
    assert {"LD_PRELOAD", "LD_LIBRARY_PATH"} <= set(listed)


def test_hydra_passes_the_environment_on_by_itself(tmp_path: Path) -> None:
    module_lines = lines("mpich-5.0.2", AbiFamily.OPENMPI, tmp_path)
    assert not [line for line in module_lines if "env_list" in line]
    assert module_lines[-1].startswith("prepend-path LD_PRELOAD")
