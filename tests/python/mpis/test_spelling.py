"""Settings of the knobs under each MPI implementation; every knob has one somewhere."""

from dataclasses import replace

import pytest
from tests.support.answers import skipped, values
from tests.support.situations import BY_LABEL, MPIS, all_situations, machine, situation

from mpiric.algorithms.library import library_algorithms
from mpiric.knobs import all_knobs
from mpiric.launchers import spell as spell_by_launcher
from mpiric.model.job import Spelling
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.situation import Situation
from mpiric.mpis import implementations, spell

SITUATIONS = tuple(all_situations())


def spelled(knob: str, value: str, case: Situation) -> Spelling | None:
    settings = all_knobs()[knob].settings
    if settings is not None:
        return settings(value, case)
    by_launcher = spell_by_launcher(knob, value, case)
    return by_launcher or spell(knob, value, case)


def environment(knob: str, value: str, library: str, **more: int) -> dict[str, str]:
    spelling = spell(knob, value, situation(BY_LABEL[library], **more))
    assert spelling is not None
    return dict(spelling.environment)


BY_LAUNCHERS = ("binding", "mapping", "launch-route", "threads-per-rank")


@pytest.mark.parametrize("knob", sorted(set(all_knobs()) - set(BY_LAUNCHERS)))
def test_every_value_worth_trying_is_spelled_where_it_is_worth_trying(knob: str) -> None:
    for case in SITUATIONS:
        for value in () if skipped(knob, case) else values(knob, case):
            assert spelled(knob, value, case) is not None, (value, case.mpi.label, case.job.dialect)


@pytest.mark.parametrize("knob", BY_LAUNCHERS)
def test_every_value_worth_trying_of_a_launcher_is_spelled_by_some_launcher(knob: str) -> None:
    tried = [(value, case) for case in SITUATIONS for value in values(knob, case)]
    spelled_values = {value for value, case in tried if spelled(knob, value, case) is not None}
    assert spelled_values == {value for value, _ in tried}


@pytest.mark.parametrize("library", MPIS, ids=lambda library: library.label)
def test_no_spelling_writes_an_empty_name_or_a_line_break(library: MpiLibrary) -> None:
    case = situation(library, ranks=8, nodes=2)
    for knob in all_knobs():
        for value in values(knob, case):
            spelling = spell(knob, value, case) or Spelling()
            assert all(name and "\n" not in name + text for name, text in spelling.environment.items())


def test_a_knob_without_a_setting_gives_none() -> None:
    assert spell("frobnicate", "1", situation()) is None


def test_an_unknown_implementation_has_no_settings() -> None:
    assert spell("waiting", "yield", situation(replace(MPIS[0], implementation="lam"))) is None


def test_mpich_yields_with_message_based_collectives() -> None:
    spelling = environment("waiting", "yield", "mpich-5.0.2", ranks=4)
    assert {
        spelling[f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM"]
        for name in ("ALLREDUCE", "BARRIER", "BCAST", "REDUCE")
    } == {"mpir"}


def test_open_mpi_4_has_no_way_to_sleep() -> None:
    assert spell("waiting", "sleep", situation(BY_LABEL["openmpi-4.1.4"], ranks=4)) is None


@pytest.mark.parametrize(("label", "name"), [("openmpi-4.1.4", "vader"), ("openmpi-5.0.11", "sm")])
def test_the_shared_memory_transport_of_open_mpi_is_named_by_its_version(label: str, name: str) -> None:
    assert f"OMPI_MCA_btl_{name}_eager_limit" in environment("eager-node", "64KiB", label)


@pytest.mark.parametrize("label", ["openmpi-4.1.4", "openmpi-5.0.11"])
def test_the_segment_of_open_mpi_holds_its_free_list_of_eager_buffers(label: str) -> None:
    spelling = environment("eager-node", "256KiB", label)
    (segment,) = (int(value) for name, value in spelling.items() if name.endswith("segment_size"))
    assert segment >= 512 * 256 * 1024


@pytest.mark.parametrize("value", ["8KiB", "256KiB", "1MiB"])
def test_no_fragment_of_open_mpi_is_smaller_than_an_eager_message(value: str) -> None:
    spelling = environment("eager-node", value, "openmpi-5.0.11")
    assert int(spelling["OMPI_MCA_btl_sm_max_send_size"]) >= int(spelling["OMPI_MCA_btl_sm_eager_limit"])


def test_a_cell_of_mpich_holds_an_eager_message_and_its_header() -> None:
    spelling = environment("eager-node", "64KiB", "mpich-5.0.2")
    assert int(spelling["MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"]) > 65536


@pytest.mark.parametrize(
    ("label", "name"),
    [("mpich-4.0.2", "MPIR_CVAR_CH4_AM_PACK_BUFFER_SIZE"), ("mpich-5.0.2", "MPIR_CVAR_CH4_PACK_BUFFER_SIZE")],
)
def test_buffers_for_packing_hold_a_cell_of_mpich(label: str, name: str) -> None:
    spelling = environment("eager-node", "256KiB", label)
    assert int(spelling[name]) >= int(spelling["MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"])


def test_an_algorithm_of_open_mpi_comes_with_the_switch_without_which_it_is_ignored() -> None:
    spelling = environment("allreduce-algorithm", "ring", "openmpi-4.1.4")
    assert spelling["OMPI_MCA_coll_tuned_allreduce_algorithm"] == "4"
    assert spelling["OMPI_MCA_coll_tuned_use_dynamic_rules"] == "1"


def test_an_algorithm_of_mpich_takes_the_choice_from_the_device() -> None:
    spelling = environment("bcast-algorithm", "binomial", "mpich-5.0.2")
    assert spelling["MPIR_CVAR_BCAST_DEVICE_COLLECTIVE"] == "0"


def test_an_algorithm_a_version_does_not_have_is_not_spelled() -> None:
    assert spell("allreduce-algorithm", "ring", situation(BY_LABEL["mpich-4.0.2"])) is None


@pytest.mark.parametrize(
    ("label", "forced"),
    [
        ("openmpi-4.1.4", "OMPI_MCA_btl"),
        ("openmpi-5.0.11", "OMPI_MCA_btl"),
        ("mpich-4.0.2", "UCX_TLS"),
    ],
)
def test_shared_memory_is_had_back_by_taking_the_forced_transport_away(label: str, forced: str) -> None:
    library = BY_LABEL[label]
    spelling = spell("node-transport", "shared-memory", situation(library))
    assert spelling is not None
    assert forced in spelling.unset


def test_mpich_gets_the_setting_for_ranks_on_one_node() -> None:
    assert environment("node-transport", "shared-memory", "mpich-5.0.2")["MPIR_CVAR_NOLOCAL"] == "0"


def test_mpich_opens_no_network_on_one_node() -> None:
    assert environment("node-transport", "shared-memory-only", "mpich-5.0.2") == {"UCX_TLS": "self,sm"}
    assert spell("node-transport", "shared-memory-only", situation(BY_LABEL["mpich-4.0.2"])) is None


def test_open_mpi_5_can_leave_libfabric_unopened_on_any_number_of_nodes() -> None:
    for nodes in (1, 2):
        settings = environment("network-library", "without-ofi", "openmpi-5.0.11", nodes=nodes)
        assert settings == {"OMPI_MCA_mtl": "^ofi", "OMPI_MCA_btl": "^ofi"}
        assert "without-ofi" in values("network-library", situation(BY_LABEL["openmpi-5.0.11"], nodes=nodes))
    assert "without-ofi" not in values("network-library", situation(BY_LABEL["openmpi-4.1.4"], nodes=2))


@pytest.mark.parametrize("label", ["openmpi-5.0.11", "intelmpi-2021.19", "mpich-5.0.2"])
def test_shared_memory_only_is_refused_across_nodes(label: str) -> None:
    library = BY_LABEL[label]
    case = situation(library, nodes=2)
    assert spell("node-transport", "shared-memory-only", case) is None


def test_an_interface_reaches_every_layer_that_could_choose_another() -> None:
    spelling = environment("network-interface", "eth0", "openmpi-5.0.11", nodes=2)
    names = ("OMPI_MCA_btl_tcp_if_include", "UCX_NET_DEVICES", "FI_TCP_IFACE")
    assert {spelling[name] for name in names} == {"eth0"}


def test_buffers_of_mpich_shrink_in_number_as_cells_and_ranks_grow() -> None:
    brings = all_knobs()["eager-node"].brings
    assert brings is not None
    assert brings("1MiB", situation(BY_LABEL["mpich-5.0.2"], ranks=64))["node-buffers"] == "16"
    assert "node-buffers" not in brings("8KiB", situation(BY_LABEL["mpich-5.0.2"], ranks=2))


@pytest.mark.parametrize("implementation", implementations())
def test_every_implementation_has_candidates_of_its_own(implementation: str) -> None:
    assert library_algorithms(implementation)


def test_candidates_of_one_collective_have_different_names_in_each_version() -> None:
    for library in MPIS:
        version = tuple(int(part) for part in library.version.split("."))
        mine = [c for c in library_algorithms(library.implementation) if c.exists_in(version)]
        assert len({(c.collective, c.name) for c in mine}) == len(mine)


def test_the_size_of_the_machine_does_not_change_names_of_knobs() -> None:
    case = situation(BY_LABEL["mpich-5.0.2"], on=machine(2, 64))
    assert spell("single-copy", "none", case) is not None
