from mpiric.model.machine import FileSystem
from mpiric.model.mpi_library import MpiLibrary
from mpiric.workflows.machine import _with_drivers, _without_driver

WITH = MpiLibrary("intelmpi", "2021", (), "", "", "", "", "", "", file_drivers=("ufs", "lustre"))
WITHOUT = MpiLibrary("mpich", "5.0", (), "", "", "", "", "", "", file_drivers=("ufs", "nfs"))


def systems(kind, *mpis):
    return _with_drivers((FileSystem("/w", "/w", kind, 0, 0, is_network=True),), mpis)


def test_each_library_is_listed_with_its_driver():
    (system,) = systems("lustre", WITH, WITHOUT)
    assert system.mpi_drivers == {"intelmpi-2021": "lustre", "mpich-5.0": "ufs"}


def test_ignored_hints_are_a_finding_that_names_who_obeys_them():
    (finding,) = _without_driver(systems("lustre", WITH, WITHOUT))
    assert finding.evidence == "mpich-5.0: no driver for Lustre built in"
    assert "intelmpi-2021" in finding.fix


def test_nothing_is_reported_if_no_driver_is_missing():
    assert _without_driver(systems("lustre", WITH)) == ()
    assert _without_driver(systems("nfs", WITHOUT)) == ()
    assert _without_driver(systems("ext4", WITHOUT)) == ()
