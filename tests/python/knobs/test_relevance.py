"""Knobs that cannot matter to a program are listed with the reason; known wins keep their knobs."""

from dataclasses import replace

import pytest
from tests.support.answers import LEAST, needless, values
from tests.support.behaviours import (
    ALLREDUCE,
    BETWEEN_NODES,
    CHURN,
    COMPUTES,
    HALO,
    HEAT,
    LATENCY,
    SCATTERED,
    behaviour,
    doing,
    messages,
)
from tests.support.records import cell, rank, record
from tests.support.situations import BY_LABEL, all_situations, situation
from tests.support.written_files import output, writing

from mpiric.knobs import all_knobs, consider, distinct
from mpiric.model.knob import Try
from mpiric.model.profile import Carriers
from mpiric.model.situation import EVERYTHING, HostNames
from mpiric.profile.analyse import analyse
from mpiric.profile.behaviour import behaviour_of

KIB = 1 << 10
KNOBS = all_knobs().values()
ALGORITHMS = {name for name in all_knobs() if name.endswith("-algorithm")}


def files_of(case):
    return case.observation.behaviour.files if case.observation.behaviour else ()


def rich():
    """Situations in which every knob applies in one of them, so that the record alone decides."""
    libraries = ("/x/libucp.so.0", "/x/libhcoll.so.1", "/x/mca_io_ompio.so", "/x/libgomp.so.1")
    for label in ("mpich-5.0.2", "openmpi-4.1.4", "intelmpi-2021.19"):
        for nodes in (1, 2):
            options = {"nodes": nodes, "ranks": 4, "libraries": libraries, "allowed": EVERYTHING}
            names = HostNames("eth0", {"ib0": {"n1": "n1.ipoib"}})
            yield situation(BY_LABEL[label], host_names=names, others=(BY_LABEL["mpich-4.0.2"],), **options)


def dropped(shown):
    """Return knobs that some situation would try, but none with this record."""
    tried, relevant = set(), set()
    for case in rich():
        recorded = replace(doing(case, shown), least_share=LEAST)
        for knob in KNOBS:
            if isinstance(consider(knob, case), Try):
                tried.add(knob.name)
                relevant |= {knob.name} if isinstance(consider(knob, recorded), Try) else set()
    return tried - relevant


def sizes(name, shown, label="mpich-5.0.2", *, is_set=False):
    case = replace(doing(situation(BY_LABEL[label]), shown), least_share=LEAST)
    return distinct_of(name, case, is_set=is_set)


def distinct_of(name, case, *, is_set=False):
    answer = distinct(all_knobs()[name], Try(values(name, situation()), 0.3, ""), case, is_set=is_set)
    return answer.values if isinstance(answer, Try) else ()


@pytest.fixture(scope="module")
def numbers():
    """Return the names of all numbers of a record."""
    kinds = {"MPI_Send": "send", "MPI_Allreduce": "collective", "MPI_File_write": "file"}
    cells = (cell("MPI_Send", 1, 8, 0.1), cell("MPI_Allreduce", 1, 8, 0.1), cell("MPI_File_write", 1, 8, 0.1))
    rank_record = replace(record(rank(0, 1.0, *cells), rank(1, 1.0, *cells)), function_classes=kinds)
    return set(behaviour_of(rank_record, analyse(rank_record), Carriers(), 2.0).numbers)


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_numbers_that_decide_on_a_knob_are_in_every_record_and_have_a_sentence(knob, numbers):
    nothing = behaviour(**dict.fromkeys(numbers, 0.0))
    assert set(knob.touches) <= numbers
    for case in all_situations() if knob.touches else ():
        assert needless(knob.name, case, replace(nothing, files=files_of(case)))


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_symptoms_of_a_knob_are_numbers_of_records(knob, numbers):
    by_kind = {"file_share", "reduce_share", "gather_share", "scatter_share", "reduce_scatter_share"}
    assert set(knob.symptoms) <= numbers | by_kind


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_sizes_that_cut_messages_are_sizes(knob):
    assert knob.threshold_of in ("", "node", "network", "ucx")
    assert not knob.threshold_of or knob.domain.accepts("64KiB")


@pytest.mark.parametrize(
    ("shown", "needed"),
    [
        (LATENCY, {"binding"}),
        (HALO, {"binding", "node-transport", "network-library", "eager-node", "single-copy"}),
        (ALLREDUCE, {"waiting", "binding", "collectives", "collective-component", "allreduce-algorithm"}),
        (CHURN, {"malloc", "allocator", "huge-pages"}),
        (SCATTERED, {"huge-pages"}),
        (HEAT, {"malloc", "binding", "huge-pages"}),
        (
            BETWEEN_NODES,
            {"network-interface", "host-names", "ofi-provider", "eager-network", "binding", "mapping"},
        ),
    ],
    ids=["latency", "halo", "allreduce", "churn", "scattered", "heat", "between nodes"],
)
def test_knobs_of_known_wins_are_never_dropped(shown, needed):
    assert not dropped(shown) & needed


@pytest.mark.parametrize(
    "shown", [HEAT, ALLREDUCE, CHURN, COMPUTES], ids=["heat", "allreduce", "churn", "computes"]
)
def test_settings_of_ucx_and_of_networks_cannot_matter_where_neither_is_used(shown):
    assert {"ucx-transports", "eager-network", "network-interface"} <= dropped(shown)


def test_an_algorithm_matters_only_for_called_collectives_that_take_time():
    assert dropped(ALLREDUCE) >= ALGORITHMS - {"allreduce-algorithm"}
    assert dropped(HEAT) >= ALGORITHMS
    rarely = behaviour(alltoallv_calls=3.0, alltoallv_bound=0.2, collective_calls=3.0, collective_bound=0.2)
    assert "alltoall-algorithm" not in dropped(rarely)  # carried out by the same code


def test_a_layout_matters_where_the_time_goes_into_mpi_io_alone():
    written = {"io_bytes_written": 24e6, "io_bound": 0.0028, "mpi_io_bound": 0.8, "unsafe_bound": 0.0}
    case = writing(situation(BY_LABEL["mpich-5.0.2"], ranks=8, nodes=4), output("out/data", 8))
    files = files_of(case)
    assert not needless("layout", case, replace(behaviour(**written), files=files))
    unwritten = behaviour(**{**written, "mpi_io_bound": 0.0})
    assert needless("layout", case, replace(unwritten, files=files))


def test_nothing_on_messages_is_left_where_ranks_only_reduce_in_shared_memory():
    settings = {"eager-node", "single-copy", "single-copy-threshold", "node-buffers", "memory-copy"}
    assert settings | {"malloc", "allocator", "huge-pages"} <= dropped(ALLREDUCE)


@pytest.mark.parametrize(
    ("knob", "shown", "why"),
    [
        ("alltoall-algorithm", COMPUTES, "the collective is not called"),
        ("allreduce-algorithm", HEAT, "0.4 % of a rank's time goes into MPI_Allreduce"),
        ("malloc", ALLREDUCE, "0.15 % of a rank's time goes into the allocator and page faults"),
        ("allocator", COMPUTES, "0.2 % of a rank's time goes into the allocator and page faults"),
        ("mpi-io-library", COMPUTES, "no time goes into MPI-IO"),
        ("huge-pages", COMPUTES, "a rank holds 12 MiB at most and takes 20 page faults a second"),
        (
            "ucx-transports",
            replace(COMPUTES, carriers=Carriers("ob1 over self sm")),
            "no message goes through UCX (the library reports ob1 over self sm)",
        ),
    ],
)
def test_the_reason_is_a_fact_of_the_record(knob, shown, why):
    libraries = ("/x/libucp.so.0", "/x/mca_io_ompio.so")
    label = "mpich-5.0.2" if knob.endswith("-algorithm") else "openmpi-4.1.4"
    case = situation(BY_LABEL[label], ranks=4, libraries=libraries, allowed=EVERYTHING)
    assert needless(knob, case, shown) == why


def test_if_the_objective_is_not_a_time_only_knobs_without_affected_work_are_dropped():
    case = situation(BY_LABEL["mpich-5.0.2"], ranks=4, allowed=EVERYTHING)
    assert needless("allreduce-algorithm", case, HEAT, 0.0) == ""
    assert needless("allgather-algorithm", case, HEAT, 0.0)


@pytest.mark.parametrize(
    ("sent", "remaining"),
    [
        ((8,), ()),  # every size is eager, as it is by default
        ((401_408,), ()),  # none is
        ((20 * KIB,), ("64KiB",)),
        ((20 * KIB, 100 * KIB), ("64KiB", "256KiB")),
        ((64 * KIB,), ("64KiB", "256KiB")),  # the message with its header may be larger
        ((4 * KIB, 12 * KIB, 40 * KIB, 200 * KIB), ("16KiB", "64KiB", "256KiB")),
    ],
)
def test_of_sizes_that_do_the_same_to_the_messages_one_is_left(sent, remaining):
    assert sizes("eager-node", messages(*sent)) == remaining


def test_the_default_that_the_user_has_changed_rules_nothing_out():
    assert sizes("eager-node", messages(8), is_set=True) == ("8KiB",)


def test_sizes_that_parts_of_larger_messages_have_are_all_different():
    assert sizes("eager-node", messages(401_408), "mpich-4.0.2") == ("8KiB", "16KiB", "64KiB", "256KiB")


def test_without_a_record_every_size_is_left():
    assert distinct_of("eager-node", situation()) == values("eager-node", situation())
