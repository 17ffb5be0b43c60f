"""aprun and PALS: the words for a plan say the plan; ranks started with them are seen where they belong."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.support.absent_machines import MACHINES, REQUESTS
from tests.support.cray_launchers import aprun_places, install, pals_places, read
from tests.support.spin import build_spin

from mpiric.host.facts.local import LocalHost
from mpiric.launchers import emit
from mpiric.machine import read_topology
from mpiric.model.placement import PlacementRequest
from mpiric.placement import plan


def swept(*values):
    return pytest.param(*values, marks=pytest.mark.sweep)


@pytest.fixture(params=MACHINES)
def topology(request):
    source = MACHINES[request.param]
    xml = LocalHost().topology_xml(source.read_text() if isinstance(source, Path) else source)
    assert xml
    return read_topology(xml)


@pytest.mark.parametrize("request_name", REQUESTS)
def test_aprun_would_bind_as_planned(topology, request_name):
    placement = plan(topology, PlacementRequest(**{"nodes": 1, **REQUESTS[request_name]}))
    emission = emit(placement, "aprun")
    places = aprun_places(read("aprun", emission.argv[1:]), topology)
    assert len(places) == placement.ranks_per_node
    for threads, seat in zip(places, placement.seats, strict=True):
        if "depth" in emission.argv:  # the mask of the PE; its OpenMP runtime shares it out
            assert threads[0] == {thread[0] for thread in seat.threads}
        else:
            assert [min(thread_pus) for thread_pus in threads] == [thread[0] for thread in seat.threads]
    assert emission.exact == all({min(t)} == set(t) for seat in placement.seats for t in seat.threads)


@pytest.mark.parametrize("request_name", REQUESTS)
def test_pals_would_bind_as_planned(topology, request_name):
    placement = plan(topology, PlacementRequest(**{"nodes": 1, **REQUESTS[request_name]}))
    places = pals_places(read("mpiexec", emit(placement, "pals").argv[1:]), topology)
    assert [threads[0] for threads in places] == [set(seat.pus) for seat in placement.seats]


@pytest.fixture
def cray(tmp_path, run_mpiric):
    """mpiric on a machine whose launchers are aprun and PALS's mpiexec."""
    xml = LocalHost().topology_xml()
    assert xml
    place = install(tmp_path, xml)
    build_spin(tmp_path)

    def run(*arguments, **env):
        return run_mpiric(*arguments, env={"PATH": f"{place}:{os.environ['PATH']}", **env})

    return run


@pytest.mark.requires("several-cores")
@pytest.mark.requires("gcc")
@pytest.mark.parametrize(
    ("launcher", "ranks", "threads"),
    [
        ("aprun", "2", "1"),
        ("pals", "1", "2"),
        swept("aprun", "1", "2"),
        swept("pals", "2", "1"),
    ],
)
def test_ranks_started_with_the_words_of_a_plan_are_seen_where_it_puts_them(cray, launcher, ranks, threads):
    wish = ("--ranks", ranks, "--threads", threads)
    emission = json.loads(cray("place", "--json", *wish).stdout)["launchers"][launcher]
    line = (*emission["argv"], "./spin", "1")
    done = cray("place", "--verify", "--json", *wish, "--", *line, **emission["env"])
    answer = json.loads(done.stdout)
    results = {finding["id"] for finding in answer["findings"]}
    assert results <= {"jobs-overlap"}, done.stderr  # others may be bound on this machine
    assert [process["rank"] for process in answer["processes"]] == list(range(int(ranks)))


@pytest.mark.requires("several-cores")
@pytest.mark.requires("gcc")
@pytest.mark.parametrize(
    ("line", "finding"),
    [
        (("aprun", "-n", "2", "-cc", "none"), "unbound-ranks"),
        swept(("aprun", "-n", "2", "-cc", "{first}"), "ranks-overlap"),
        (("mpiexec", "-n", "2", "--cpu-bind", "list:{first}:{first}"), "ranks-overlap"),
    ],
)
def test_ranks_that_sit_badly_are_caught(cray, line, finding):
    command = [word.format(first=min(os.sched_getaffinity(0))) for word in line]
    done = cray("place", "--verify", "--json", "--", *command, "./spin", "1", OMP_NUM_THREADS="1")
    assert finding in {entry["id"] for entry in json.loads(done.stdout)["findings"]}


@pytest.mark.requires("several-cores")
@pytest.mark.requires("debian-mpich")
@pytest.mark.parametrize(
    ("line", "knobs", "rendered"),
    [
        ("aprun -n 2 -cc none -q", "binding=core", "aprun -cc cpu -n 2 -q"),
        swept("mpiexec -n 2 --cpu-bind none -l", "binding=core", "mpiexec --cpu-bind core -n 2 -l"),
        ("aprun -n 1 -N 1", "threads-per-rank=2", "aprun -cc depth -d 2 -n 1 -N 1"),
        swept(
            "mpiexec -n 1 --ppn 1", "threads-per-rank=2", "mpiexec --cpu-bind depth --depth 2 -n 1 --ppn 1"
        ),
        ("mpiexec -n 2 --cpu-bind none", "malloc=keep-memory", None),
    ],
)
def test_run_writes_the_line_anew_and_the_ranks_get_it(cray, tmp_path, line, knobs, rendered):
    source = (
        "#include <mpi.h>\n#include <sched.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
        "int main(int c, char **v) { cpu_set_t s; MPI_Init(&c, &v); sched_getaffinity(0, sizeof s, &s);\n"
        'printf("%d cpus, %s\\n", CPU_COUNT(&s), getenv("MALLOC_TRIM_THRESHOLD_") ? "kept" : "as it is");\n'
        "MPI_Finalize(); return 0; }\n"
    )
    (tmp_path / "a.c").write_text(source)
    subprocess.run(
        ["mpicc.mpich", "-D_GNU_SOURCE", "a.c", "-o", "a"], cwd=tmp_path, check=True, capture_output=True
    )
    command = ("run", "--no-recipe", "--set", knobs)
    dry = cray(*command, "--dry-run", "--", *line.split(), "./a")
    assert dry.returncode == 0, dry.stderr
    if rendered:
        assert f"{rendered} ./a" in dry.stdout
    done = cray(*command, "--", *line.split(), "./a")
    assert done.returncode == 0, done.stderr
    ranks = int(line.split()[2])
    cpus = {"binding=core": 1, "threads-per-rank=2": 2}.get(knobs, len(os.sched_getaffinity(0)))
    stored = "kept" if "malloc" in knobs else "as it is"
    assert done.stdout.splitlines() == [f"{cpus} cpus, {stored}"] * ranks
