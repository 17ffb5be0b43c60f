"""Files with graphs and matrices: accepted forms, and errors."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpiric.mapping.read import read_graph, read_matrix_market, read_metis, read_numpy, read_text_matrix
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import RankGraph

READERS = (read_metis, read_matrix_market, read_numpy, read_text_matrix)
SQUARE = b"4 4\n2 4\n1 3\n2 4\n1 3\n"


def pairs(graph: RankGraph) -> dict[tuple[int, int], float]:
    ends = zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)
    return dict(zip(ends, graph.weights.tolist(), strict=True))


def saved(save, *arguments, **arrays) -> bytes:
    file = io.BytesIO()
    save(file, *arguments, **arrays)
    return file.getvalue()


def test_a_line_of_metis_names_the_neighbours_of_a_vertex():
    assert pairs(read_metis(SQUARE, "g")) == {
        (0, 1): 1, (0, 3): 1, (1, 0): 1, (1, 2): 1, (2, 1): 1, (2, 3): 1, (3, 0): 1, (3, 2): 1,
    }  # fmt: skip


def test_metis_has_comments_vertex_weights_and_edge_weights():
    graph = read_metis(b"% made up\n3 2 011\n5 2 7\n1 1 7 3 2\n0 2 2\n\n", "g")
    assert pairs(graph) == {(0, 1): 7, (1, 0): 7, (1, 2): 2, (2, 1): 2}
    assert graph.rank_weights.tolist() == [5, 1, 0]


def test_a_vertex_of_metis_may_have_no_neighbours():
    assert read_metis(b"3 1\n3\n\n1\n", "g").offsets.tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"", "header"),
        (b"2 1\n2", "1 lines"),
        (b"2 1\n2\n\n", "not symmetric"),
        (b"3 2\n2\n1\n2\n", "not symmetric"),
        (b"2 1 001\n2 5\n1 6\n", "not symmetric"),
        (b"2 1\n3\n1\n", "rank 2 is out of range"),
        (b"2 1 001\n2 -5\n1 -5\n", "negative"),
        (b"2 1 001\n2\n1\n", "lacks its weight"),
        (b"2 2\n2\n1\n", "announces 2 edges"),
        (b"2 1\n2.5\n1\n", "integer"),
        (b"2 1 001\n2 9999999999999999999\n1 1\n", "digits"),
        (b"2 1 777\n2\n1\n", "format 777"),
        (b"2 1\nx\n1\n", "integer"),
    ],
)
def test_a_metis_file_that_contradicts_itself_is_refused(text, what):
    with pytest.raises(MpiricError, match=what):
        read_metis(text, "g")


def test_a_general_matrix_contains_the_bytes_that_each_rank_sends():
    text = b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 10\n2 1 4.5\n"
    assert pairs(read_matrix_market(text, "m")) == {(0, 1): 7.25, (1, 0): 7.25}


def test_a_symmetric_matrix_holds_one_half():
    text = b"%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n1 1 9\n2 1 4\n"
    assert pairs(read_matrix_market(text, "m")) == {(0, 1): 4, (1, 0): 4}


def test_an_array_of_matrix_market_is_read_by_columns():
    text = b"%%MatrixMarket matrix array real general\n2 2\n0\n6\n0\n0\n"
    assert pairs(read_matrix_market(text, "m")) == {(0, 1): 3, (1, 0): 3}
    half = b"%%MatrixMarket matrix array real symmetric\n3 3\n0\n1\n2\n0\n3\n0\n"
    assert pairs(read_matrix_market(half, "m"))[(2, 1)] == 3


def test_numpy_files_are_dense_or_sparse():
    matrix = np.array([[0, 2.0], [0, 0]])
    half = {(0, 1): 1, (1, 0): 1}
    csr = {"data": [2.0], "indices": [1], "indptr": [0, 1, 1], "shape": [2, 2], "format": b"csr"}
    coo = {"data": [2.0], "row": [0], "col": [1], "shape": [2, 2], "format": b"coo"}
    assert pairs(read_numpy(saved(np.save, matrix), "m")) == half
    assert pairs(read_numpy(saved(np.savez, matrix=matrix), "m")) == half
    assert pairs(read_numpy(saved(np.savez, **csr), "m")) == half
    assert pairs(read_numpy(saved(np.savez, **coo), "m")) == half


def test_a_text_is_a_square_matrix_or_a_list_of_pairs():
    assert pairs(read_text_matrix(b"0,2\n0,0\n", "t")) == {(0, 1): 1, (1, 0): 1}
    assert pairs(read_text_matrix(b"# sent\n0 3 8\n1 0 2\n", "t"))[(0, 3)] == 4


@pytest.mark.parametrize(
    ("reader", "data", "what"),
    [
        (read_matrix_market, b"1 1 1\n", "not a MatrixMarket"),
        (read_matrix_market, b"%%MatrixMarket matrix coordinate real general\n2 3 0\n", "square"),
        (read_matrix_market, b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 3\n", "entries"),
        (read_matrix_market, b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 -3\n", "negative"),
        (read_matrix_market, b"%%MatrixMarket matrix coordinate real general\n2 2 1\n0 2 3\n", "rank -1"),
        (read_numpy, b"no file of NumPy's", "not a NumPy matrix"),
        (read_numpy, saved(np.save, np.ones((2, 3))), "square"),
        (read_numpy, saved(np.save, np.array([[0, np.nan], [0, 0]])), "not a finite number"),
        (read_text_matrix, b"0 1\n2\n", "differ in length"),
        (read_text_matrix, b"0 1.5 2\n", "integer"),
    ],
)
def test_an_invalid_matrix_is_refused(reader, data, what):
    with pytest.raises(MpiricError, match=what):
        reader(data, "m")


@pytest.mark.parametrize("reader", READERS)
@settings(deadline=None, max_examples=200)
@given(
    data=st.one_of(
        st.binary(max_size=200),
        st.text("0123456789 \n.-e%", max_size=120).map(str.encode),
        st.builds(lambda t: b"%%MatrixMarket matrix coordinate real general\n" + t.encode(),
                  st.text("0123456789 \n.-e", max_size=60)),
        st.lists(st.lists(st.integers(-1, 5), max_size=4), max_size=6).map(
            lambda rows: "\n".join(" ".join(map(str, row)) for row in rows).encode()
        ),
    )
)  # fmt: skip
def test_any_bytes_are_a_graph_or_refused_in_one_sentence(reader, data):
    try:
        graph = reader(data, "file")
    except MpiricError as error:
        assert "\n" not in error.message  # noqa: PT017
    else:
        assert graph.size == len(graph.rank_weights)
        assert (graph.weights > 0).all()
        assert pairs(graph) == {(b, a): weight for (a, b), weight in pairs(graph).items()}


def test_the_suffix_of_a_name_determines_the_kind_of_file(tmp_path):
    with pytest.raises(MpiricError, match="unknown suffix"):
        read_graph(tmp_path / "graph.xyz")
    with pytest.raises(MpiricError, match="there is no"):
        read_graph(tmp_path / "graph.metis")
