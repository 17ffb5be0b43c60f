"""Which layouts are tried for which files, and where none can be set."""

from dataclasses import replace

import pytest
from tests.support.answers import values
from tests.support.situations import MPIS, situation
from tests.support.written_files import lustre, output, writing

from mpiric import knobs
from mpiric.knobs._layouts import t3pio_stripes
from mpiric.model.storage import FileLayout, Stripes

MPICH = next(library for library in MPIS if library.label == "mpich-5.0.2")
LAYOUT = knobs.all_knobs()["layout"]
MIB = 1 << 20


def case(*files, ranks=16, nodes=4, **more):
    return writing(situation(MPICH, ranks=ranks, nodes=nodes), *files, **more)


SHARED = output("out/data.h5", 16)
OWN = tuple(output(f"out/dump.{rank}", 1) for rank in range(16))


def test_a_file_of_all_ranks_is_tried_over_all_targets_first():
    assert values("layout", case(SHARED))[0] == "out/:allx1MiB"


def test_a_file_of_each_rank_is_tried_on_one_target():
    wide = lustre(default_layout=FileLayout((Stripes(4, MIB),)))
    assert values("layout", case(*OWN, system=wide))[0] == "out/:1x1MiB"


def test_files_of_few_ranks_share_all_targets():
    few = lustre(targets=8, default_layout=FileLayout((Stripes(1, MIB),)))
    assert values("layout", case(*OWN[:4], system=few))[0] == "out/:2x1MiB"


def test_unlike_files_of_one_directory_get_layouts_by_name_from_the_runtime():
    value = values("layout", case(SHARED, *OWN))[0]
    assert value == "data.h*:allx1MiB;dump.*:1x1MiB"
    spelling = LAYOUT.settings(value, case(SHARED, *OWN))
    assert spelling.environment == {"MPIRIC_FILE_LAYOUTS": "data.h* -1x1048576;dump.* 1x1048576"}
    assert (spelling.prepare, spelling.preload) == ((), ("/opt/mpiric/libmpiric.so",))


def test_a_directory_is_laid_out_by_commands_without_the_runtime():
    spelling = LAYOUT.settings("out/:4x1MiB", case(SHARED))
    assert spelling.prepare == (
        ("mkdir", "-p", "out"),
        ("lfs", "setstripe", "-c", "4", "-S", "1048576", "out"),
    )
    assert (spelling.environment, spelling.preload) == ({}, ())


def test_the_default_layout_is_not_a_candidate():
    everywhere = lustre(default_layout=FileLayout((Stripes(-1, MIB),)))
    assert "out/:allx1MiB" not in values("layout", case(SHARED, system=everywhere))


def test_stripes_are_as_large_as_single_writes():
    large = output("out/data.h5", 16, largest=3 * MIB + 1)
    assert "out/:allx3136KiB" in values("layout", case(large))


@pytest.mark.parametrize(("nodes", "targets", "stripes"), [(1, 8, 8), (3, 8, 6), (4, 8, 8), (9, 8, 8)])
def test_t3pio_takes_a_multiple_of_the_nodes(nodes, targets, stripes):
    assert t3pio_stripes(nodes, targets) == stripes


@pytest.mark.parametrize(
    ("layout_case", "reason"),
    [
        (case(SHARED, system=replace(lustre(), kind="nfs")), "no layouts to set"),
        (case(SHARED, system=replace(lustre(), is_writable=False)), "read-only"),
        (case(SHARED, system=lustre(targets=1)), "one target"),
        (case(output("/elsewhere/data", 16)), "no recorded run has made files below"),
        (case(output("in.dat", 16, opened=("read", "write"))), "no recorded run has made files below"),
        (replace(case(SHARED), try_layout=lambda: "`lfs` is not there"), "`lfs` is not there"),
    ],
)
def test_the_reason_why_no_layout_can_be_set_is_reported(layout_case, reason):
    assert reason in LAYOUT.consider(layout_case).reason


def test_names_that_cannot_be_written_have_no_rule_of_their_own():
    assert values("layout", case(output("a b/data", 16))) == ()
    odd = output("out/new\nline", 16)
    assert all("\n" not in value for value in values("layout", case(odd, *OWN)))


@pytest.mark.parametrize("value", ["out/:99x1MiB", "out/:4x100KiB", "*.h5:4x1MiB+dirs9"])
def test_hints_that_the_file_system_ignores_are_not_set(value):
    if LAYOUT.domain.accepts(value):
        assert LAYOUT.settings(value, case(SHARED)) is None


def test_on_another_file_system_a_layout_is_not_spelled():
    assert LAYOUT.settings("out/:4x1MiB", case(SHARED, system=replace(lustre(), kind="nfs"))) is None
