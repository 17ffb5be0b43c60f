"""Which libraries stay at the site."""

import pytest

from mpiric.workflows.pack.gather import why_left_out


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("libc.so.6", "C library"),
        ("libnss_files.so.2", "C library"),
        ("ld-linux-x86-64.so.2", "C library"),
        ("libcuda.so.1", "driver"),
        ("libibverbs.so.1", "networks"),
        ("libfabric.so.1", "networks"),
        ("libpmix.so.2", "launcher"),
        ("libmpi.so.12", "MPI"),
        ("libmpichfort.so.12", "MPI"),
        ("libmpi_usempif08.so.40", "MPI"),
        ("libopen-pal.so.40", "MPI"),
    ],
)
def test_libraries_of_the_site_stay(name, of):
    assert of in why_left_out(name)


@pytest.mark.parametrize(
    "name", ["libstdc++.so.6", "libcudart.so.12", "libhdf5.so.103", "libcrypt.so.1", "libmkl_rt.so"]
)
def test_libraries_of_the_program_go_along(name):
    assert why_left_out(name) == ""
