from mpiric.host.facts.local import LocalHost
from mpiric.mpis._describe import file_drivers

PREFIXES = b"\0ufs:\0panfs:\0testfs:\0lustre:\0"


def test_drivers_are_those_in_romio_s_table(tmp_path):
    library = tmp_path / "libmpi.so"
    library.write_bytes(PREFIXES)
    assert file_drivers(LocalHost(), str(library), str(tmp_path), "") == ("ufs", "lustre", "panfs")


def test_a_prefix_stored_as_the_end_of_another_needs_the_driver_s_functions(tmp_path):
    library = tmp_path / "libmpi.so"
    library.write_bytes(PREFIXES + b"ADIO_NFS_operations\0")
    assert "nfs" in file_drivers(LocalHost(), str(library), str(tmp_path), "")


def test_components_of_open_mpi_count_next_to_its_romio(tmp_path):
    (tmp_path / "openmpi3").mkdir()
    (tmp_path / "openmpi3/mca_io_romio321.so").write_bytes(PREFIXES)
    library = tmp_path / "libmpi.so"
    library.write_bytes(b"\0")
    drivers = file_drivers(
        LocalHost(), str(library), str(tmp_path), "mca:fs:ufs:version\nmca:fs:ime:version\n"
    )
    assert drivers == ("ufs", "lustre", "panfs", "ime")


def test_an_unreadable_library_has_no_driver(tmp_path):
    assert file_drivers(LocalHost(), str(tmp_path / "gone"), str(tmp_path), "") == ()
