"""Settings of files that cannot be set where a job writes are left out, with a sentence and a hint each."""

from dataclasses import replace

import pytest
from tests.support.answers import values
from tests.support.situations import BY_LABEL, MPIS, situation
from tests.support.written_files import lustre, writing

from mpiric.model.configuration import Configuration
from mpiric.model.situation import Tuner
from mpiric.workflows.run.collectives import settable

SIEVING = "romio_cb_write=disable"


def case(*, nodes=1, library=MPIS[0], **mount):
    return writing(situation(library, ranks=8, nodes=nodes), system=lustre(**mount))


def left_out(values, file_case):
    """Return the remaining values and the sentence; check that it has a hint."""
    configuration, sentences = settable(Configuration.of(values), file_case)
    (sentence,) = sentences
    sentence, hint = sentence.split("\nhint: ")
    assert hint
    return configuration.as_dict(), sentence


@pytest.mark.parametrize(
    ("value", "mount", "why"),
    [
        ("9x1MiB", {}, "9 stripes are requested, but only 8 targets exist"),
        ("4x100000B", {}, "the stripe size must be a multiple of 65536 bytes, not 100000"),
        ("4x1MiB", {"is_writable": False}, "/home is mounted read-only"),
        ("4x1MiB+dirs2", {}, "2 directory stripes are more than the number of metadata servers"),
    ],
)
def test_a_layout_that_the_file_system_cannot_have(value, mount, why):
    assert left_out({"layout": value}, case(**mount)) == ({}, f"layout={value} is not applied: {why}")


def test_a_layout_on_another_file_system_than_that_of_the_recipe():
    file_case = case()
    other = replace(file_case.machine.file_systems[0], kind="ext4")
    file_case = replace(file_case, machine=replace(file_case.machine, file_systems=(other,)))
    settings, sentence = left_out({"layout": "4x1MiB", "binding": "core"}, file_case)
    assert (settings, sentence) == ({"binding": "core"}, "layout=4x1MiB is not applied: ext4 has no layouts")


def test_a_layout_of_single_files_without_the_runtime():
    file_case = replace(case(), tuner=Tuner(why_not="the ranks load no library"))
    assert left_out({"layout": "*.h5:4x1MiB"}, file_case)[1].endswith(
        "is not applied: the ranks load no library"
    )


@pytest.mark.parametrize("value", [SIEVING, f"*.h5:cb_nodes=2,{SIEVING}", "romio_ds_write=enable"])
@pytest.mark.parametrize(
    ("mount", "nodes", "phrase"),
    [({"locks": "none"}, 1, "no flock"), ({"locks": "this node"}, 2, "flock that holds on one node only")],
)
def test_hints_that_need_locks_where_none_hold(value, mount, nodes, phrase):
    why = f"data sieving needs locks, and /home is mounted with {phrase}"
    file_case = case(nodes=nodes, **mount)
    assert left_out({"mpi-io": value}, file_case) == ({}, f"mpi-io={value} is not applied: {why}")


@pytest.mark.parametrize(
    ("value", "mount"),
    [
        (SIEVING, {"locks": "all nodes"}),
        (SIEVING, {"locks": "this node"}),
        (SIEVING, {}),
        (f"{SIEVING},romio_ds_write=disable", {"locks": "none"}),
        ("cb_nodes=4,romio_cb_write=enable", {"locks": "none"}),
    ],
)
def test_hints_that_need_none_are_set(value, mount):
    configuration = Configuration.of({"mpi-io": value})
    assert settable(configuration, case(**mount)) == (configuration, [])


def test_no_hint_that_needs_locks_is_tried_where_none_hold():
    tried = {locks: values("mpi-io", case(locks=locks)) for locks in ("none", "all nodes")}
    assert any(SIEVING in value for value in tried["all nodes"])
    assert tried["none"]
    assert not any(SIEVING in value for value in tried["none"])


def test_a_directory_that_leads_elsewhere_by_a_link_keeps_its_layout(tmp_path):
    (tmp_path / "work/real").mkdir(parents=True)
    (tmp_path / "work/inside").symlink_to("real")
    (tmp_path / "work/away").symlink_to(tmp_path)
    file_case = case(library=BY_LABEL["mpich-5.0.2"])
    system = replace(file_case.machine.file_systems[0], mount_point=str(tmp_path))
    file_case = replace(
        file_case,
        machine=replace(file_case.machine, file_systems=(system,)),
        job=replace(file_case.job, working_directory=str(tmp_path / "work")),
    )
    settings, sentence = left_out({"layout": "inside/:4x1MiB;away/:2x1MiB;new/:2x1MiB"}, file_case)
    assert settings == {"layout": "inside/:4x1MiB;new/:2x1MiB"}
    assert sentence == ("layout=away/:2x1MiB is not applied: 'away' is a link out of the working directory")
    assert left_out({"layout": "away/:2x1MiB"}, file_case)[0] == {}
