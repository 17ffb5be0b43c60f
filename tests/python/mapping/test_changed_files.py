"""Good files with something changed in them are read or refused in one sentence, whatever has changed."""

import io
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mpiric.mapping.graph import graph_of
from mpiric.mapping.machine_tree import assemble, with_fabric
from mpiric.mapping.machine_yaml import parse_machine_yaml
from mpiric.mapping.networks import parse_network
from mpiric.mapping.read import read_matrix_market, read_metis, read_numpy, read_text_matrix
from mpiric.mapping.switches import parse_slurm_topology
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import MachineSpec, RankGraph

QUICK = settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
MOST_RANKS = 1 << 20  # larger graphs, which a small file may describe, are not checked further


def _numpy(save, *arguments, **arrays) -> bytes:
    file = io.BytesIO()
    save(file, *arguments, **arrays)
    return file.getvalue()


GRAPHS: dict[Callable[[bytes, str], RankGraph], tuple[bytes, ...]] = {
    read_metis: (
        b"4 4\n2 4\n1 3\n2 4\n1 3\n",
        b"% weights\n3 2 011 1\n5 2 7\n1 1 7 3 2\n0 2 2\n",
        b"3 1 100\n9 3\n8\n7 1\n",
    ),
    read_matrix_market: (
        b"%%MatrixMarket matrix coordinate real general\n% sent\n3 3 3\n1 2 1.5\n2 3 4e3\n3 1 7\n",
        b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 1\n",
        b"%%MatrixMarket matrix array integer symmetric\n3 3\n0\n1\n2\n0\n3\n0\n",
        b"%%MatrixMarket matrix array real general\n2 2\n0\n6\n1\n0\n",
    ),
    read_numpy: (
        _numpy(np.save, np.array([[0, 2.5], [1, 0]])),
        _numpy(np.save, np.arange(9, dtype=np.uint16).reshape(3, 3)),
        _numpy(np.savez, matrix=np.ones((3, 3))),
        _numpy(np.savez, data=[2.0], indices=[1], indptr=[0, 1, 1], shape=[2, 2], format=b"csr"),
        _numpy(np.savez_compressed, data=[2.0], row=[0], col=[1], shape=[2, 2], format=b"coo"),
    ),
    read_text_matrix: (b"# sent\n0 3 8\n1 0 2.5e1\n", b"0,2,1\n0,0,4\n3,1,0\n"),
}


def _switches(text: str, name: str) -> MachineSpec:
    return MachineSpec(slots=(1,), network=parse_slurm_topology(text, name))


def _fabric(text: str, name: str) -> MachineSpec:
    return with_fabric(MachineSpec(hosts=("a", "b"), slots=(2,)), text, name)


MACHINES: dict[Callable[[str, str], MachineSpec], tuple[str, ...]] = {
    _switches: (
        "# two leaves\nSwitchName=s1 Nodes=n[1,3]\nSwitchName=s2 Nodes=n[2,4] LinkSpeed=100\n"
        "SwitchName=top Switches=s[1-2]\n",
        "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[01-12]\nSwitchName=t Level=1 Nodes=(null) Switches=s1\n",
        "BlockName=b1 Nodes=a[1-2],c\nBlockName=b2 Nodes=d\n",
    ),
    parse_machine_yaml: (
        'nodes: "n[1-4]"\nslots: 8\ninside: {numa: 4, socket: 8}\nnetwork: torus:2x2\n'
        "at: {n1: [0, 0], n2: [0, 1], n3: [1, 0], n4: 3}\n"
        "costs: {network: {latency_us: 1.5, bandwidth_MBps: 12000}}\nnics: 2\n",
        'nodes: {a: 2, "b[1-2]": 3}\nswitches: {s1: a, s2: "b[1-2]", top: "s[1-2]"}\n'
        "distances: {node: 1, network: 10}\n",
    ),
    _fabric: ('{"pairs": [{"class": "other node", "latency_us": 2, "bandwidth_MBps": 1000.5}]}',),
}

TOKENS = [
    b"-1", b"0", b"1", b"2", b"1e308", b"1e-320", b"nan", b"inf", b"4294967296", b"2147483648", b"999999999",
    b"9223372036854775807", b"18446744073709551616", b" ", b"\n", b"\r\n", b"\t", b"\0", b"%", b"#", b",",
    b"[", b"]", b"{", b"}", b":", b"-", b"[1-3][1-9]", b"[1-99999]", b"~", b"!!int x", b"&a ", b"*a",
    b"<<: ", b"Switches=s1", b"\xff", b"\xe2\x82\xac",
]  # fmt: skip


@st.composite
def changed(draw, samples: tuple[bytes, ...]) -> bytes:
    """Return a sample with up to four parts removed, repeated, moved or replaced."""
    data = draw(st.sampled_from(samples))
    for _ in range(draw(st.integers(1, 4))):
        at, end = sorted(draw(st.tuples(*[st.integers(0, len(data))] * 2)))
        end = min(end, at + draw(st.sampled_from([1, 2, 8, 80])))
        part = draw(
            st.one_of(
                st.sampled_from([b"", data[at:end] * 2]), st.sampled_from(TOKENS), st.binary(max_size=3)
            )
        )
        to = draw(st.integers(0, len(data)))
        data = draw(
            st.sampled_from([data[:at] + part + data[end:], data[:at] + part + data[at:], data[:to]])
            if draw(st.booleans())
            else st.just(data[:at] + part + data[end:])
        )
    return data


def _expect_sound(graph: RankGraph) -> None:
    assert graph.size == len(graph.rank_weights)
    assert (graph.weights > 0).all()
    assert np.isfinite(graph.weights).all()
    assert graph.rank_weights.min() >= 0
    if len(graph.targets):
        assert 0 <= graph.targets.min() <= graph.targets.max() < graph.size
    if graph.size < MOST_RANKS:
        forth = set(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
        assert forth == {(b, a) for a, b in forth}
        assert all(a != b for a, b in forth)


def _expect_sound_or_refused(reader: Callable[[bytes, str], RankGraph], data: bytes) -> None:
    try:
        graph = reader(data, "file")
    except MpiricError as error:
        assert "\n" not in error.message  # noqa: PT017
    else:
        _expect_sound(graph)


@pytest.mark.parametrize("reader", GRAPHS, ids=lambda reader: reader.__name__)
@QUICK
@given(data=st.data())
def test_a_graph_is_sound_or_refused(reader, data):
    _expect_sound_or_refused(reader, data.draw(changed(GRAPHS[reader])))


def _arrays() -> st.SearchStrategy[np.ndarray]:
    kinds = st.sampled_from(["i1", "u8", "i8", "f4", "f8", "c16", "?", "U3", "S2", "M8[s]"])
    shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)
    values = st.sampled_from([0, 1, 2, 3, 7, -1, 2**62, 1e300])

    def array_of(kind: str, shape: tuple[int, ...], drawn: list[float]) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.resize(np.array(drawn, dtype=object), shape).astype(kind, casting="unsafe")

    def tried(arguments: tuple[str, tuple[int, ...], list[float]]) -> np.ndarray:
        try:
            return array_of(*arguments)
        except (OverflowError, ValueError, TypeError):
            return np.zeros(arguments[1], dtype=arguments[0])

    return st.tuples(kinds, shapes, st.lists(values, min_size=1, max_size=6)).map(tried)


@QUICK
@given(
    st.dictionaries(
        st.sampled_from(["data", "shape", "row", "col", "indices", "indptr", "format", "matrix"]), _arrays()
    )
)
def test_arrays_of_any_kind_and_shape_are_a_graph_or_refused(arrays):
    sound = {"data": np.ones(2), "shape": np.array([3, 3]), "row": np.array([0, 1]), "col": np.array([1, 2])}
    for arrays_read in (arrays, sound | arrays):
        _expect_sound_or_refused(read_numpy, _numpy(np.savez, **arrays_read))


@pytest.mark.parametrize("reader", MACHINES, ids=lambda reader: reader.__name__.strip("_"))
@QUICK
@given(data=st.data())
def test_a_machine_holds_together_or_is_refused(reader, data):
    samples = tuple(text.encode() for text in MACHINES[reader])
    text = data.draw(changed(samples)).decode("utf-8", "replace")
    try:
        machine = assemble(reader(text, "file"))
    except MpiricError as error:
        assert "\n" not in error.message  # noqa: PT017
    else:
        assert sorted(machine.launch_slots.tolist()) == list(range(machine.tree.slots))
        for group in machine.tree.groups:
            assert set(np.diff(group).tolist()) <= {0, 1}
        assert machine.tree.groups[-1].max() == 0


@QUICK
@given(st.data())
def test_the_name_of_a_network_is_one_or_refused(data):
    names = (b"torus:4x2", b"fat-tree:2x3x2", b"dragonfly:2x2x3:adaptive", b"dragonfly+:2x2x3")
    text = data.draw(changed(names)).decode("utf-8", "replace")
    try:
        network = parse_network(text)
    except MpiricError as error:
        assert "\n" not in error.message  # noqa: PT017
    else:
        assert network.nodes > 0


@pytest.mark.parametrize(
    ("ends", "weights", "what"),
    [
        (([0, 5], [1, 0]), [1.0, 1.0], "rank 5 is out of range"),
        (([0, -2], [1, 0]), [1.0, 1.0], "rank -2 is out of range"),
        (([0], [1]), [-1.0], "a weight is negative"),
        (([0], [1]), [np.inf], "not a finite number"),
    ],
)
def test_traffic_that_cannot_be_is_refused_by_name(ends, weights, what):
    sources, targets = (np.array(end) for end in ends)
    with pytest.raises(MpiricError, match=what):
        graph_of(3, sources, targets, np.array(weights))
