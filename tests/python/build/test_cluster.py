"""CPU targets of a cluster: from Slurm's words for its nodes, or from a list of machines."""

from pathlib import Path

import pytest

from mpiric.build.cluster import from_nodes, machines_of
from mpiric.host.toolchain import Finished, Toolchain
from mpiric.model.errors import NotFoundError

NODES = """
NodeName=n1 CPUTot=64 AvailableFeatures=haswell,ib,rack1 ActiveFeatures=haswell,ib Partitions=all,short
NodeName=n2 CPUTot=128 AvailableFeatures=znver3,eth ActiveFeatures=znver3 Partitions=all
NodeName=n3 CPUTot=96 AvailableFeatures=(null) ActiveFeatures=(null) Partitions=all
"""


class Answers(Toolchain):
    """Slurm as recorded above."""

    def run(self, argv, **_) -> Finished:  # type: ignore[no-untyped-def,override]
        assert list(argv) == ["scontrol", "-o", "show", "nodes"]
        return Finished(0, NODES.encode(), b"")


def test_features_of_nodes_that_are_cpu_targets_are_taken_by_partition() -> None:
    assert from_nodes(NODES, "", "x86_64") == ("haswell", "zen3")
    assert from_nodes(NODES, "short", "x86_64") == ("haswell",)


def test_the_environment_says_which_partition_or_which_list(tmp_path: Path) -> None:
    assert machines_of(Answers({}, 1), "x86_64") == ("haswell", "zen3")
    assert machines_of(Answers({"MPIRIC_PARTITION": "short"}, 1), "x86_64") == ("haswell",)
    (tmp_path / "list").write_text("a: zen4\nb skylake-avx512\n\n")
    listed = Answers({"MPIRIC_MACHINES": str(tmp_path / "list")}, 1)
    assert machines_of(listed, "x86_64") == ("zen4", "skylake_avx512")


def test_a_cluster_that_says_nothing_of_its_cpus_is_an_error_with_a_way_out() -> None:
    with pytest.raises(NotFoundError) as error:
        machines_of(Answers({"MPIRIC_PARTITION": "none"}, 1), "x86_64")
    assert "MPIRIC_MACHINES" in (error.value.hint or "")
