"""Patterns in words: who talks to whom."""

import pytest

from mpiric.mapping.patterns import grid_graph, lines_graph, parse_extents, stencil_offsets
from mpiric.model.errors import MpiricError


def degrees(graph):
    return {int(end - begin) for begin, end in zip(graph.offsets, graph.offsets[1:], strict=False)}


def test_seven_points_are_faces_and_twenty_seven_all_that_touch():
    assert degrees(grid_graph((4, 4, 4), "7", periodic=True)) == {6}
    assert degrees(grid_graph((4, 4, 4), "27", periodic=True)) == {26}
    assert degrees(grid_graph((4, 4, 4), "7", periodic=False)) == {3, 4, 5, 6}


def test_ranks_are_counted_along_the_last_dimension_first():
    graph = grid_graph((2, 3), "5", periodic=False)
    assert sorted(graph.targets[graph.offsets[1] : graph.offsets[2]]) == [0, 2, 4]


def test_each_direction_of_a_stencil_has_its_weight():
    graph = grid_graph((4,), "1:3;2", periodic=False)
    row = slice(graph.offsets[0], graph.offsets[1])
    assert dict(zip(graph.targets[row].tolist(), graph.weights[row].tolist(), strict=True)) == {1: 3, 2: 1}


def test_an_offset_wider_than_the_grid_has_no_neighbours():
    assert len(grid_graph((2, 2), "5,0", periodic=False).targets) == 0


def test_lines_are_all_to_all_in_rows_or_columns():
    rows = lines_graph((2, 3), (1,))
    assert sorted(rows.targets[rows.offsets[4] : rows.offsets[5]]) == [3, 5]
    assert degrees(lines_graph((2, 3), (0, 1))) == {3}


def test_a_grid_of_one_rank_has_no_neighbours():
    assert len(grid_graph((1, 1), "5", periodic=True).targets) == 0
    assert len(lines_graph((1, 1), (0, 1)).targets) == 0


@pytest.mark.parametrize("text", ["", "4x", "0x4", "axb", "-1x2", "99999x99999"])
def test_extents_that_are_none_are_refused(text):
    with pytest.raises(MpiricError):
        parse_extents(text)


@pytest.mark.parametrize("text", ["", "6", "1,0", "0,0,0", "1,0,0:0", "1,0,0:x", "1,0,0:nan"])
def test_an_invalid_stencil_is_refused(text):
    with pytest.raises(MpiricError, match="not part of a stencil"):
        stencil_offsets(text, 3)
