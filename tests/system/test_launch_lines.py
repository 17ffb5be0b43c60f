"""Launch lines under another MPI library give each rank the same CPUs, variables, directory and arguments."""

import shlex
import subprocess
from pathlib import Path

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.workflows.run.run import with_values

SOURCE = Path(__file__).parent / "programs/shows_launch.c"
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# P is the path of the program; ./P leads to it, too.
OPENMPI = [
    "mpirun.openmpi -np 2 P x 'y z'",
    "mpirun.openmpi -n 2 P input.nml -v 3",
    "mpirun.openmpi -np 2 ./P a",
    "mpirun.openmpi -np 2 sh -c './P \"$0\" b' 'a a'",
    "mpirun.openmpi -np 2 -x A=1 P",
    "mpirun.openmpi -np 2 -x 'A=a b,c' P",
    "env A=7 mpirun.openmpi -x A -np 2 P",
    "env A=4 mpirun.openmpi -np 2 P",
    "env A=4 mpirun.openmpi -np 2 env -u A P",
    "mpirun.openmpi -np 2 env A=3 P",
    "mpirun.openmpi -np 1 -x A=1 P a : -np 1 -x A=2 P b",
    "mpirun.openmpi -np 1 -x A=1 P a : -np 1 P b",
    "mpirun.openmpi -np 1 env A=8 P : -np 1 P",
    "mpirun.openmpi -np 2 --wdir /tmp P",
    "mpirun.openmpi -wd /tmp -np 2 P",
    "mpirun.openmpi --wdir /tmp -np 1 P a : -np 1 P b",
    "mpirun.openmpi -np 1 P a : -np 1 --wdir /tmp P b",
    "mpirun.openmpi --app app",
    "mpirun.openmpi --bind-to none -np 2 P",
    "mpirun.openmpi --bind-to core -np 2 P",
    "mpirun.openmpi --bind-to hwthread -np 2 P",
    "mpirun.openmpi --bind-to socket -np 2 P",
    "mpirun.openmpi --bind-to none --map-by slot -np 2 P",
    "mpirun.openmpi --bind-to core --map-by core -np 2 P",
    "mpirun.openmpi --map-by slot:PE=1 --bind-to core -np 2 P",
    "mpirun.openmpi --map-by ppr:2:node -np 2 P",
    "mpirun.openmpi --rank-by slot -np 2 P",
    "mpirun.openmpi -npernode 2 -np 2 P",
    "mpirun.openmpi -N 2 -np 2 P",
    "mpirun.openmpi --oversubscribe -np 2 P",
    "mpirun.openmpi --mca hwloc_base_binding_policy none -np 2 P",
    "env OMPI_MCA_hwloc_base_binding_policy=none mpirun.openmpi -np 2 P",
    "mpirun.openmpi --mca btl tcp,self --report-bindings -np 2 P",
    "mpirun.openmpi --mca pml ob1 --mca btl_base_warn_component_unused 0 -np 2 P",
    "mpirun.openmpi --display-map --allow-run-as-root -q -np 2 P",
    "mpirun.openmpi -H localhost:2 -np 2 P",
    "mpirun.openmpi --hostfile hosts.openmpi -np 2 P",
    "mpirun.openmpi -machinefile hosts.openmpi -np 2 P",
    "mpirun.openmpi -x A=1 -np 2 taskset -c 1 P",
    "timeout 60 mpirun.openmpi -np 2 P",
]
HYDRA = [
    "mpiexec.mpich -n 2 P x 'y z'",
    "mpirun.mpich -np 2 ./P a",
    "mpiexec.mpich -genv A 1 -n 2 P",
    "mpiexec.mpich -env A 'a b' -n 2 P",
    "env A=4 mpiexec.mpich -n 2 P",
    "env A=4 mpiexec.mpich -genvall -n 2 P",
    "mpiexec.mpich -n 2 env A=3 P",
    "mpiexec.mpich -n 1 P a : -n 1 P b",
    "mpiexec.mpich -n 1 -env A 1 P : -n 1 P",
    "mpiexec.mpich -genv A 1 -n 1 P : -n 1 -env A 2 P",
    "mpiexec.mpich -n 1 P : -n 1 -genv A 3 P",
    "mpiexec.mpich -wdir /tmp -n 2 P",
    "mpiexec.mpich -n 1 P : -wdir /tmp -n 1 P",
    "mpiexec.mpich -n 1 -wdir /tmp P : -n 1 P",
    "mpiexec.mpich -configfile conf",
    "mpiexec.mpich -bind-to core -n 2 P",
    "mpiexec.mpich -bind-to hwthread -n 2 P",
    "mpiexec.mpich -bind-to none -n 2 P",
    "mpiexec.mpich -bind-to core -map-by core -n 2 P",
    "mpiexec.mpich -ppn 2 -n 2 P",
    "mpiexec.mpich -hosts localhost -n 2 P a",
    "mpiexec.mpich -f hosts.mpich -n 2 P",
    "mpiexec.mpich -iface lo -n 2 P",
    "mpiexec.mpich -verbose -print-all-exitcodes -n 2 P",
    "taskset -c 1 mpiexec.mpich -n 2 P",
    "mpiexec.mpich -n 2 taskset -c 0 P",
    "timeout 60 mpiexec.mpich -n 2 P",
]
CASES = [(line, "openmpi", "mpich-4.0.2") for line in OPENMPI]
CASES += [(line, "mpich", "openmpi-4.1.4") for line in HYDRA]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The program, built for both libraries."""
    place = tmp_path_factory.mktemp("programs")
    for name in ("mpich", "openmpi"):
        subprocess.run([f"mpicc.{name}", str(SOURCE), "-o", str(place / name)], check=True, timeout=60)
    return place


def test_at_least_sixty_lines_are_executed():
    assert len(set(CASES)) >= 60


@pytest.mark.slow
@pytest.mark.requires("debian-mpich", "debian-openmpi")
@pytest.mark.parametrize(("line", "built_for", "other"), CASES)
def test_every_rank_is_started_in_the_same_way(
    programs, environment, tmp_path, monkeypatch, line, built_for, other
):
    program = tmp_path / "P"
    program.symlink_to(programs / built_for)
    (tmp_path / "app").write_text(f"-x A=5 -np 1 {program} a\n# comment\n-np 1 {program} b\n")
    (tmp_path / "conf").write_text(f"-env A 5 -n 1 {program} a\n-n 1 {program} b\n")
    (tmp_path / "hosts.openmpi").write_text("localhost slots=2\n")
    (tmp_path / "hosts.mpich").write_text("localhost:2\n")
    argv = [str(program) if word == "P" else word for word in shlex.split(line)]
    variables = {**environment, **ROOT}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    native = ranks_of(argv, variables, tmp_path)
    translated = with_values(argv, str(tmp_path), variables, {"mpi": other}, LocalHost())
    assert list(translated[0]) != argv
    assert ranks_of(*translated, tmp_path) == native
    assert len(native) == 2


def ranks_of(argv, environment, directory):
    done = subprocess.run(argv, env=environment, cwd=directory, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return sorted(line for line in done.stdout.splitlines() if line[:3] in ("0/2", "1/2"))
