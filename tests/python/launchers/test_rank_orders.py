"""A rank order in the form of every launcher: ranks 0 and 2 on a, 1 and 3 on b."""

import pytest

from mpiric.launchers.rank_orders import rank_order_forms
from mpiric.model.rank_order import RankOrder

ORDER = RankOrder(slots=(0, 2, 1, 3), hosts=("a", "a", "b", "b"))
RANKFILE = "rank 0=a slot=0\nrank 1=b slot=0\nrank 2=a slot=1\nrank 3=b slot=1\n"
EXPECTED = {
    "mpich-rank-order": "# ranks in the order of the slots\n0,2,1,3\n",
    "openmpi-rankfile": RANKFILE,
    "prrte": RANKFILE,
    "hydra": "a:2\nb:2\n",
    "intelmpi": "a:1\nb:1\na:1\nb:1\n",
    "slurm": "a\nb\na\nb\n",
    "lsf": "cpu_index_using: logical\n"
    "rank: 0: { host: 1; cpu: {0} }\nrank: 1: { host: 2; cpu: {0} }\n"
    "rank: 2: { host: 1; cpu: {1} }\nrank: 3: { host: 2; cpu: {1} }\n",
}


def test_every_launcher_has_an_expectation():
    assert set(rank_order_forms()) == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_each_launcher_gets_the_order_in_its_format(name):
    emission = rank_order_forms()[name](ORDER)
    assert emission.text == EXPECTED[name]
    arguments = [*emission.options, *emission.environment.values()]
    assert any("{file}" in word for word in arguments)


def test_usage_names_the_options_that_contradict_the_file():
    usage = rank_order_forms()["prrte"](ORDER).usage("/tmp/ranks")
    assert usage == "--map-by rankfile:file=/tmp/ranks (in place of --map-by, --rank-by, --bind-to)"
    assert "in place" not in rank_order_forms()["slurm"](ORDER).usage("/tmp/ranks")


def test_cray_wants_the_rank_of_each_slot():
    order = RankOrder(slots=(2, 0, 1), hosts=("a", "a", "b"))
    assert rank_order_forms()["mpich-rank-order"](order).text.splitlines()[1] == "1,2,0"


def test_intel_mpi_gets_a_run_of_ranks_in_one_line():
    order = RankOrder(slots=(0, 1, 2, 3), hosts=("a", "a", "b", "b"))
    assert rank_order_forms()["intelmpi"](order).text == "a:2\nb:2\n"


def test_hydra_gets_the_node_of_each_group_of_ranks():
    order = RankOrder(slots=(0, 2, 3, 1), hosts=("a", "a", "b", "b"))
    assert rank_order_forms()["hydra"](order).options[-1] == "'(0,1,1),(1,1,2),(0,1,1)'"
