"""Launch lines under another MPI library give each rank the same CPUs, variables, directory and arguments."""

import shlex
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "programs/shows_launch.c"
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
OPENMPI = [
    "mpirun.openmpi -np 2 P x 'y z'",
    "mpirun.openmpi -np 2 -x A=1 P",
    "mpirun.openmpi -np 2 --wdir /tmp P",
    "mpirun.openmpi -np 1 -x A=1 P a : -np 1 -x A=2 P b",
    "mpirun.openmpi -np 1 -x A=1 P a : -np 1 P b",
    "mpirun.openmpi --wdir /tmp -np 1 P a : -np 1 P b",
    "mpirun.openmpi --app app",
    "mpirun.openmpi --bind-to none -np 2 P",
    "mpirun.openmpi --bind-to core --map-by core -np 2 P",
    "mpirun.openmpi --mca hwloc_base_binding_policy none -np 2 P",
    "mpirun.openmpi --mca btl tcp,self --report-bindings -np 2 P",
    "mpirun.openmpi -np 2 env A=3 P",
    "mpirun.openmpi -x A=1 -np 2 taskset -c 1 P",
    "env A=4 mpirun.openmpi -np 2 P",
]
HYDRA = [
    "mpiexec.mpich -n 1 -env A 1 P : -n 1 P",
    "mpiexec.mpich -genv A 1 -n 1 P : -n 1 -env A 2 P",
    "mpiexec.mpich -n 1 P : -n 1 -genv A 3 P",
    "mpiexec.mpich -n 1 P : -wdir /tmp -n 1 P",
    "mpiexec.mpich -configfile conf",
    "mpiexec.mpich -bind-to core -n 2 P",
    "mpiexec.mpich -verbose -print-all-exitcodes -n 2 P",
    "mpiexec.mpich -hosts localhost -n 2 P a",
]
CASES = [(line, "openmpi", "mpich-4") for line in OPENMPI] + [(line, "mpich", "openmpi-4") for line in HYDRA]


@pytest.mark.slow
@pytest.mark.requires("debian-mpich", "debian-openmpi")
@pytest.mark.parametrize(("line", "built_for", "other"), CASES)
def test_every_rank_is_started_in_the_same_way(run_mpiric, environment, tmp_path, line, built_for, other):
    program = tmp_path / "shows_launch"
    subprocess.run([f"mpicc.{built_for}", str(SOURCE), "-o", str(program)], check=True, timeout=60)
    (tmp_path / "app").write_text(f"-x A=5 -np 1 {program} a\n# comment\n-np 1 {program} b\n")
    (tmp_path / "conf").write_text(f"-env A 5 -n 1 {program} a\n-n 1 {program} b\n")
    argv = [str(program) if word == "P" else word for word in shlex.split(line)]
    native = subprocess.run(
        argv, env={**environment, **ROOT}, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    done = run_mpiric("run", "--no-recipe", "--mpi", other, "--", *argv, env=ROOT)
    assert native.returncode == 0, native.stderr
    assert done.returncode == 0, done.stderr
    assert ranks_of(done.stdout) == ranks_of(native.stdout)
    assert len(ranks_of(native.stdout)) == 2


def ranks_of(text):
    return sorted(line for line in text.splitlines() if line[:3] in ("0/2", "1/2"))
