"""Programs in containers: the parts of the table, their launch lines, and the summary."""

from argparse import Namespace
from math import isclose
from pathlib import Path

import pytest
from benchmarks._container_programs import Program, programs
from benchmarks._places import Place
from benchmarks._programs import Bed, chosen
from benchmarks.containers import row_of, summary_of

from mpiric.model.mpi_library import AbiFamily, MpiLibrary

SHARED = Place("shared memory", 2, 1, 0)
CLUSTER = Place("virtual cluster", 2, 2, 0, "fast0", Path("/lab"), ("n1", "n2"))


def bed(implementation: str) -> Bed:
    family = AbiFamily.OPENMPI if implementation == "openmpi" else AbiFamily.MPICH
    launcher = f"/{implementation}/bin/mpiexec"
    library = ("/m/lib/libmpi.so", "libmpi.so", launcher, "", "")
    return Bed(MpiLibrary(implementation, "5", (family,), f"/{implementation}", *library), {})


def imb(implementation: str, where: Place) -> Program:
    return Program("IMB", bed(implementation), where, ("/IMB-MPI1", "Allreduce"), is_packed=False)


def test_a_part_is_chosen_by_program_library_and_place() -> None:
    parts = [imb(name, where) for where in (SHARED, CLUSTER) for name in ("mpich", "openmpi")]
    arguments = Namespace(mpi=["openmpi"], only=["virtual cluster"])
    (part,) = chosen(parts, ("mpich", "openmpi"), arguments)
    assert part.name == "IMB under openmpi-5, virtual cluster"


@pytest.mark.parametrize("implementation", ["mpich", "openmpi", "intelmpi"])
def test_on_the_cluster_each_host_has_one_of_two_ranks(implementation: str) -> None:
    start = imb(implementation, CLUSTER).start
    assert start[-2:] == ["-n", "2"]
    hosts = ["--host", "n1:1,n2:1"] if implementation == "openmpi" else ["-hosts", "n1,n2", "-ppn", "1"]
    assert start[1 : 1 + len(hosts)] == hosts


def test_all_programs_of_all_places_have_names_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = {name: bed(name) for name in ("mpich", "openmpi", "intelmpi")}
    monkeypatch.setattr("benchmarks._container_programs.beds", lambda: library)
    monkeypatch.setattr("benchmarks._container_programs.brought_lammps", lambda: "/lmp")
    arguments = Namespace(quick=False, steps=400, iterations=30000, imb_openmpi=Path("/own/IMB-MPI1"))
    all_programs = list(programs(arguments, [SHARED, CLUSTER], tmp_path))
    names = [program.name for program in all_programs]
    assert len({*names}) == len(names)
    assert sum("virtual cluster" in name and "IMB" in name for name in names) == 3
    assert not [program.name for program in all_programs if program.place is CLUSTER and program.is_packed]
    assert "run 400" in (tmp_path / "in.melt").read_text()


@pytest.mark.parametrize(("slower", "within"), [(1.01, True), (1.03, False), (0.97, False)])
def test_the_goal_is_met_when_the_whole_interval_is_within_two_percent(slower: float, within: bool) -> None:
    plain = [1.0 + number / 100 for number in range(12)]
    row = row_of("IMB", "in an image", [time_s * slower for time_s in plain], plain)
    assert isclose(row["ratio"], slower)
    assert row["within_goal"] is within
    assert row_of("IMB", "as it is", plain, plain)["within_goal"] is None


def test_the_summary_names_misses_of_the_goal_and_their_place() -> None:
    labels = {"where": "virtual cluster", "mpi": "mpich-5", "program": "IMB", "how": "in an image"}
    assert summary_of([{**labels, "within_goal": True}]) == "Not shown to be within 2 %: none."
    missed = summary_of([{**labels, "within_goal": False}])
    assert missed == "Not shown to be within 2 %: IMB in an image (mpich-5, virtual cluster)."
