import pytest

from mpiric.launchers import recognise_launcher

BANNERS = [
    (
        "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n",
        ("openmpi4", "4.1.4"),
    ),
    (
        "mpirun (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/community/help/\n",
        ("openmpi5", "5.0.11"),
    ),
    (
        "HYDRA build details:\n    Version:                                 4.0.2\n"
        "    Release Date:                            Thu Apr  7 12:34:45 CDT 2022\n",
        ("hydra", "4.0.2"),
    ),
    (
        "Intel(R) MPI Library for Linux* OS, Version 2021.19 Build 20260929 (id: 1821d9b)\n"
        "Copyright 2003-2026, Intel Corporation.\n",
        ("intelmpi", "2021.19"),
    ),
    ("slurm-wlm 22.05.8\n", ("srun", "22.05.8")),
    ("bash: mpirun: command not found\n", None),
    ("", None),
]


@pytest.mark.parametrize(("banner", "expected"), BANNERS)
def test_a_launcher_is_recognised_by_its_output(banner, expected):
    assert recognise_launcher(banner) == expected
