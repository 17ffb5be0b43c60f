"""Versions printed by MPI libraries and launchers.

Recorded on Debian 12 unless a comment names a source; these are transcribed from the source, because the
library was not available.
"""

OPENMPI_4 = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022"
OPENMPI_5 = (
    "Open MPI v5.0.11, package: Open MPI user@localhost Distribution, ident: 5.0.11, "
    "repo rev: v5.0.11rc1, Sep 16, 2026"
)
MPICH_4 = """MPICH Version:\t4.0.2
MPICH Release date:\tThu Apr  7 12:34:45 CDT 2022
MPICH ABI:\t14:2:2
MPICH Device:\tch4:ucx
MPICH configure:\t--build=x86_64-linux-gnu --prefix=/usr
"""
MPICH_5 = """MPICH Version:      5.0.2
MPICH Release date: Fri Sep 25 20:45:26 UTC 2026
MPICH ABI:          18:2:6
MPICH Device:       ch4:ucx ofi
MPICH configure:    --with-device=ch4:ucx,ofi --with-pm=hydra:gforker
"""
INTEL_2021_19 = "Intel(R) MPI Library 2021.19.0 for Linux* OS\n"

# OpenHPCA (NVIDIA), test of its parser of MVAPICH2 versions
MVAPICH_2 = """MVAPICH2 Version:       2.3.7
MVAPICH2 Release date:  Wed March 02 22:00:00 EST 2022
MVAPICH2 Device:        ch3:mrail
MVAPICH2 configure:     --disable-fortran --enable-fast=all --enable-g=none --with-device=ch3:mrail
"""
# First line as Spack's mvapich package matches it (`^MVAPICH Version:`); the others are MPICH's of its base.
MVAPICH_3 = """MVAPICH Version:        3.0
MVAPICH Release date:   Mon Apr 10 22:00:00 EST 2023
MVAPICH ABI:            13:12:1
MVAPICH Device:         ch4:ofi
MVAPICH configure:      --with-device=ch4:ofi
"""
# Argonne's documentation of Polaris, page on Julia
CRAY_8 = """MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)
MPI BUILD INFO : Sun Feb 26 16:42 2023 (git hash aecd99f)
"""

MPIRUN_OPENMPI_4 = "mpirun (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n"
MPIRUN_OPENMPI_5 = "mpirun (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/community/help/\n"
MPIEXEC_HYDRA = """HYDRA build details:
    Version:                                 4.0.2
    Release Date:                            Thu Apr  7 12:34:45 CDT 2022
    Launchers available:                     ssh rsh fork slurm ll lsf sge manual persist
"""
MPIEXEC_INTEL = (
    "Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 20260929 (id: 1821d9b)\n"
    "Copyright 2003-2026, Intel Corporation.\n"
)
