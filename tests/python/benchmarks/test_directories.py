"""The benchmark of trial directories: each kind is the one it is called, and writes nothing into the tree."""

import pytest
from benchmarks.directories import INPUT_BYTES, costs, make_tree


@pytest.mark.parametrize("overlay", [True, False])
def test_trials_of_either_kind_leave_the_tree_as_it_is(tmp_path, overlay):
    work = tmp_path / "work"
    work.mkdir()
    make_tree(work, 120)
    kind, begin_s, overheads_s = costs(work, tmp_path, 2, overlay=overlay)
    assert kind == "copy" or overlay  # both are copies if the kernel allows no overlay
    assert begin_s > 0
    assert len(overheads_s) == 2
    assert (work / "f0/0").read_text() == "a line of a source file\n"
    assert not (work / "out.txt").exists()
    assert (work / "input.bin").stat().st_size == INPUT_BYTES
    assert sum(1 for path in work.rglob("*") if path.is_file()) == 121
