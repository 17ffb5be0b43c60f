"""The record names the GPU of each rank, as the CUDA driver that the program loads reports it."""

import subprocess
from pathlib import Path

import pytest

from mpiric.profile.read import read_record

DRIVER = """
#include <stdio.h>
#include <stdlib.h>
int cuCtxGetDevice(int *device) {
    const char *only = getenv("CUDA_VISIBLE_DEVICES");
    if (!only) return 201;
    *device = 0;
    return 0;
}
int cuDeviceGetPCIBusId(char *text, int size, int device) {
    return snprintf(text, size, "0000:%02d:00.0", 7 + atoi(getenv("CUDA_VISIBLE_DEVICES")) + device) < 0;
}
"""
PROGRAM = """
#include <dlfcn.h>
#include <mpi.h>
int main(int argc, char **argv) {
    if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) return 2;
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("gpus")
    (place / "driver.c").write_text(DRIVER)
    (place / "program.c").write_text(PROGRAM)
    driver = ["gcc", "-shared", "-fPIC", "-o", place / "libcuda.so.1", place / "driver.c"]
    subprocess.run(driver, check=True)
    compiler = ["mpicc.mpich", "-o", place / "program", place / "program.c", f"-Wl,-rpath,{place}", "-ldl"]
    subprocess.run(compiler, check=True)
    return place / "program"


@pytest.mark.requires("debian-mpich", "gcc")
@pytest.mark.parametrize(("number", "bus"), [("1", "0000:08:00.0"), ("", "")])
def test_the_bus_of_the_gpu_is_recorded(run_mpiric, program, tmp_path, number, bus):
    choice = ("-env", "CUDA_VISIBLE_DEVICES", number) if number else ()
    line = ("mpiexec.mpich", "-n", "2", *choice, str(program))
    done = run_mpiric("profile", "-o", tmp_path / "p", "--", *line)
    assert done.returncode == 0, done.stderr
    ranks = read_record(tmp_path / "p").ranks
    assert [rank.facts.get("gpu", "") for rank in ranks] == [bus, bus]
    assert [rank.facts["gpu.driver"] for rank in ranks] == ["1", "1"]
