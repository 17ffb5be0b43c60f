"""Nodes that differ, said to every launcher: a rankfile of three nodes, two of them alike."""

import subprocess

import pytest
from tests.support.machines import made_up

from mpiric.launchers import emit_all
from mpiric.placement.rankfile import Numbers, plan_rankfile, read_rankfile

TEXT = """rank 0=a slot=0-1
rank 1=a slot=2-3
rank 2=b slot=0-1
rank 3=b slot=2-3
rank 4=c slot=6-7
"""
PUS = {0: "0-1", 1: "2-3", 2: "0-1", 3: "2-3", 4: "6-7"}


@pytest.fixture(scope="module")
def emissions():
    plans = plan_rankfile(made_up(4, 4), read_rankfile(TEXT), Numbers.CORES)
    assert [(plan.hosts, plan.request.ranks) for plan in plans] == [(("a", "b"), 4), (("c",), 1)]
    return emit_all(plans)


def line(emission):
    return " ".join(emission.argv)


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_open_mpi_gets_it_as_it_was(emissions, name):
    (text,) = emissions[name].files.values()
    assert text == TEXT
    assert "-np 5 --host a:2,b:2,c:1 " in line(emissions[name])


def test_hydra_starts_unbound_ranks_that_bind_themselves(emissions):
    assert line(emissions["hydra"]) == "mpiexec -n 5 -hosts a:2,b:2,c:1 -bind-to none sh ranks.sh"
    assert "taskset" in emissions["hydra"].note


def test_intel_mpi_pins_each_host_by_a_variable_of_its_section(emissions):
    assert line(emissions["intelmpi"]) == (
        "mpiexec -host a -n 2 -env I_MPI_PIN_DOMAIN [0x3,0xc] PROGRAM : "
        "-host b -n 2 -env I_MPI_PIN_DOMAIN [0x3,0xc] PROGRAM : -host c -n 1 -env I_MPI_PIN_DOMAIN [0xc0]"
    )
    assert emissions["intelmpi"].env["I_MPI_PIN"] == "1"


def test_srun_gets_a_host_for_each_rank(emissions):
    emission = emissions["srun"]
    assert "--distribution=arbitrary --cpu-bind=none sh ranks.sh" in line(emission)
    assert emission.files[emission.env["SLURM_HOSTFILE"]] == "a\na\nb\nb\nc\n"


def test_aprun_has_a_section_for_each_kind_of_node(emissions):
    first, second = line(emissions["aprun"]).split(" PROGRAM : ")
    assert first.startswith("aprun -n 4 -N 2 ")
    assert "-L a,b" in first
    assert second.startswith("-n 1 -N 1 ")
    assert second.endswith("-cc 6,7")


def test_pals_names_a_host_for_each_rank(emissions):
    assert line(emissions["pals"]) == "mpiexec -n 5 --hosts a,a,b,b,c --cpu-bind none sh ranks.sh"


@pytest.mark.parametrize("rank", PUS)
@pytest.mark.parametrize("variable", ["PMI_RANK", "PALS_RANKID", "SLURM_PROCID"])
def test_the_script_binds_the_rank_it_is(emissions, tmp_path, rank, variable):
    (tmp_path / "ranks.sh").write_text(emissions["hydra"].files["ranks.sh"])
    (tmp_path / "taskset").write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    (tmp_path / "taskset").chmod(0o755)
    output = subprocess.run(
        ["sh", "ranks.sh", "./a b", "*"],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", variable: str(rank)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert output.stdout == f"-c|{PUS[rank]}|./a b|*|"


@pytest.mark.parametrize("environment", [{}, {"PMI_RANK": "5"}])
def test_the_script_starts_nothing_for_a_rank_it_does_not_know(emissions, environment):
    done = subprocess.run(
        ["sh", "-s", "echo", "ran"],
        input=emissions["hydra"].files["ranks.sh"],
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert done.stdout == ""
    assert "rank" in done.stderr


def test_variables_of_one_rank_a_node_hold_on_the_other_nodes_too():
    """A list of places by number would name places of the first node."""
    text = "rank 0=a slot=0-1\nrank 1=b slot=2-3\n"
    plans = plan_rankfile(made_up(4, 4), read_rankfile(text), Numbers.CORES)
    for emission in emit_all(plans).values():
        assert emission.env["OMP_PLACES"] == "cores" or emission.env["OMP_PLACES"] == "threads"
