import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mpiric.model.errors import MismatchError, MpiricError
from mpiric.model.policy import (
    LearnedKey,
    LearnedPolicy,
    Line,
    Measured,
    Named,
    Policy,
    Shape,
    Span,
    order_of,
)
from mpiric.tuning.policy_files import (
    parse_flat,
    parse_learned,
    read_learned,
    render_flat,
    render_learned,
    write_learned,
)
from mpiric.tuning.policy_merge import condense, first_decided, merge

SPEC = Path(__file__).parents[4] / "spec" / "formats"
EIGHT = Shape(8, 4, 2)


def key(start: int, end: int | None, candidate: str, shape: Shape = EIGHT, **times: float) -> LearnedKey:
    measured = tuple(
        Measured(name if name == "library" else f"library:{name}", 10, at, at * 0.95, at * 1.05)
        for name, at in times.items()
    )
    return LearnedKey("allreduce", shape, start, end, candidate, True, 0.99, 100, 20, 1e-4, measured)


def learned(*keys: LearnedKey) -> LearnedPolicy:
    return LearnedPolicy("mpich", "5.0.2", EIGHT, keys, "2026-01-01T00:00:00Z")


def test_the_examples_of_the_format_are_read() -> None:
    policy = parse_flat((SPEC / "policy.example.txt").read_bytes(), "policy.example.txt")
    assert policy.choose("allreduce", EIGHT, 100) == "library"
    assert policy.choose("allreduce", EIGHT, 2048) == "library:ring"
    site = replace(EIGHT, placement="9f3ab2c4d5e6f708")
    assert policy.choose("allreduce", site, 1 << 30) == "own:hierarchical leaders=2"
    assert policy.choose("bcast", Shape(12, 2, 6, "cyclic"), 1 << 20) == "library:pipeline segment=65536"
    assert policy.choose("bcast", Shape(13, 2, 7), 1 << 20) is None
    assert parse_flat(render_flat(policy).encode(), "again") == policy
    evidence = read_learned(SPEC / "policy.example.json")
    assert evidence.keys[0].gain == pytest.approx(0.000314 / 0.000201)
    assert parse_learned(render_learned(evidence).encode(), "again") == evidence
    page = (SPEC / "policy.md").read_text()
    assert (SPEC / "policy.example.txt").read_text() in page
    assert (SPEC / "policy.example.json").read_text() in page


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("choose allreduce 8 4 2 block * 0", "must be `choose"),
        ("choose allreduce 8 4 2 block * 0 2048", "names no candidate"),
        ("choose gossip 8 4 2 block * 0 * library", "not a collective"),
        ("choose allreduce 8 4 2 heap * 0 * library", "not an order"),
        ("choose allreduce 8 4 2 block 12 0 * library", "not a placement"),
        ("choose allreduce 9-8 4 2 block * 0 * library", "is empty"),
        ("choose allreduce -8 4 2 block * 0 * library", "not a number"),
        ("choose allreduce 8 4 2 block * 8 8 library", "the sizes from 8 to below 8 are empty"),
        ("choose allreduce 8 4 2 block * 0 * LD_PRELOAD=/tmp/x", "not a candidate"),
        ("choose allreduce 8 4 2 block * 0 * library:ring segment=/etc", "not a candidate"),
        ("choose allreduce 8 4 2 block * 0 * own:x b=1 a=2", "alphabetical"),
        ("choose allreduce 8 4 2 block * 0 * " + "own:x " * 200, "longer than"),
        ("choose allreduce 8 4 2 block * 0 * own:x\x1b[2J", "control"),
        ("set allreduce", "must be `choose"),
    ],
)
def test_a_bad_line_is_named_by_its_number(row: str, says: str) -> None:
    with pytest.raises(MpiricError, match=re.escape(says)) as caught:
        parse_flat(f"mpiric-policy 1\nmpi mpich 5.0.2\n\n{row}\n".encode(), "p.txt")
    assert "p.txt, line 4" in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_a_later_version_and_no_policy_are_refused() -> None:
    with pytest.raises(MpiricError, match="format 2"):
        parse_flat(b"mpiric-policy 2\nmpi mpich 5\n", "p")
    for data in (b"", b"\xff", b"mpiric-policy\n", b"mpiric-policy 1\n", b"mpiric-policy 1\nmpi ../x 5\n"):
        with pytest.raises(MpiricError):
            parse_flat(data, "p")


def sentence(parse: Callable[[bytes, str], object], data: bytes) -> str:
    try:
        parse(data, "p")
    except MpiricError as error:
        return error.message
    return ""


def test_any_content_is_read_as_a_policy_or_refused_in_one_sentence() -> None:
    chance = random.Random(4)
    flat = (SPEC / "policy.example.txt").read_bytes()
    evidence = (SPEC / "policy.example.json").read_bytes()
    for text, parse in ((flat, parse_flat), (evidence, parse_learned)):
        for _ in range(1500):
            data = bytearray(text[: chance.randrange(len(text) + 1)] if chance.random() < 0.5 else text)
            for _ in range(chance.randrange(4)):
                if data:
                    data[chance.randrange(len(data))] = chance.choice(b'\x00\xff9-*"{}[],: \n\x1b')
            message = sentence(parse, bytes(data))
            assert message.isprintable()


@pytest.mark.parametrize(
    "document",
    [
        b"[" * 100_000,
        b'{"mpiric_policy": 1e400}',
        b'{"mpiric_policy": NaN}',
        b'{"mpiric_policy": 1, "mpi": 3}',
        b'{"mpiric_policy": ' + b"9" * 10_000 + b"}",
        b"null",
    ],
)
def test_hostile_json_is_refused_in_a_sentence(document: bytes) -> None:
    with pytest.raises(MpiricError) as caught:
        parse_learned(document, "p.json")
    assert caught.value.message.startswith("p.json")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("from", -1),
        ("to", 0),
        ("candidate", "own:../../x"),
        ("decided", "yes"),
        ("confidence", 2),
        ("collective", "gossip"),
        ("calls", 1.5),
    ],
)
def test_a_field_of_the_wrong_kind_is_named(field: str, value: object) -> None:
    document = json.loads((SPEC / "policy.example.json").read_text())
    document["keys"][0][field] = value
    with pytest.raises(MpiricError, match=re.escape(f"keys[0].{field}")):
        parse_learned(json.dumps(document).encode(), "p.json")


def test_a_learned_policy_of_version_1_is_read() -> None:
    text = (SPEC / "policy.example.json").read_text()
    old = text.replace('"mpiric_policy": 2', '"mpiric_policy": 1')
    old = old.replace('"placement"', '"place"').replace('"decided"', '"settled"')
    assert old.count('"place"') == old.count('"settled"') == 1
    assert parse_learned(old.encode(), "old.json") == parse_learned(text.encode(), "new.json")


def test_ranks_that_do_not_fit_on_the_nodes_are_refused() -> None:
    document = json.loads((SPEC / "policy.example.json").read_text())
    document["keys"][0]["communicator"]["ranks"] = 9
    with pytest.raises(MpiricError, match="does not fit"):
        parse_learned(json.dumps(document).encode(), "p.json")


def test_candidate_names_have_one_spelling() -> None:
    assert Named.parse("own:bruck radix=4") == Named("own", "bruck", (("radix", "4"),))
    for text in ("library segment=4", "own:", "own:a  b=1", "own:a b=1 b=2", "Own:a", "own:a b=-1", ""):
        with pytest.raises(ValueError, match=r"candidate|order"):
            Named.parse(text)


def test_the_first_line_that_covers_a_call_decides() -> None:
    policy = Policy(
        "mpich",
        "5",
        (Line("bcast", "own:a", ranks=Span(8, 16), end=100), Line("bcast", "library", start=50)),
    )
    assert [policy.choose("bcast", EIGHT, size) for size in (0, 99, 100)] == ["own:a", "own:a", "library"]
    assert policy.choose("bcast", Shape(2, 1, 2), 10) is None
    assert policy.choose("reduce", EIGHT, 10) is None


def test_policies_are_pooled_where_they_overlap() -> None:
    lower = learned(key(0, 100, "library:ring", library=2.0, ring=1.0))
    upper = learned(key(50, None, "library:tree", library=2.0, ring=4.0, tree=0.5))
    both = merge([lower, upper])
    assert [(k.start, k.end, k.candidate) for k in both.keys] == [
        (0, 50, "library:ring"),
        # Only one policy has tried tree, and ring takes 2.0 on average: the library's own choice wins.
        (50, 100, "library"),
        (100, None, "library:tree"),
    ]
    ring = both.keys[1].time_of("library:ring")
    assert ring is not None
    assert ring.median_s == pytest.approx(2.0)
    assert merge([lower]) == lower
    with pytest.raises(MismatchError, match="cannot be merged"):
        merge([lower, replace(upper, implementation="openmpi")])


def test_the_programs_own_word_counts_before_that_of_a_benchmark() -> None:
    decided = key(64, 128, "library:ring", library=2.0, ring=1.0)
    still_open = replace(key(128, 256, "library"), decided=False)
    elsewhere = replace(key(256, 512, "library"), decided=False)
    program = learned(decided, still_open, elsewhere)
    benchmark = learned(key(64, 256, "library:tree", library=4.0, tree=1.0))
    both = first_decided([program, benchmark]).keys
    assert [(k.start, k.end, k.candidate, k.decided) for k in both] == [
        (64, 128, "library:ring", True),
        (128, 256, "library:tree", True),
        (256, 512, "library", False),
    ]
    assert both[1].time_of("library:tree") is not None
    assert [line.candidate for line in condense(learned(*both)).lines] == ["library:ring", "library:tree"]


def test_neighbours_are_joined_and_the_undecided_left_out() -> None:
    open_end = replace(key(4096, None, "library:ring", library=2.0), decided=False)
    policy = condense(
        learned(
            key(0, 100, "library:ring", library=2.0, ring=1.0),
            key(100, 200, "library:ring", library=2.0, ring=1.0),
            key(400, 800, "library:ring", library=2.0, ring=1.0),
            open_end,
        )
    )
    assert [(line.start, line.end) for line in policy.lines] == [(0, 200), (400, 800)]
    assert policy.choose("allreduce", EIGHT, 5000) is None


def test_communicators_elsewhere_get_lines_of_their_own_only_when_it_matters() -> None:
    nearby, elsewhere = replace(EIGHT, placement="0" * 16), replace(EIGHT, placement="1" * 16)
    alike = condense(
        learned(
            key(0, None, "library:ring", nearby, library=2.0, ring=1.0, tree=1.01),
            key(0, None, "library:tree", elsewhere, library=2.0, ring=1.01, tree=1.0),
        )
    )
    assert [line.placement for line in alike.lines] == ["*"]
    unlike = condense(
        learned(
            key(0, None, "library:ring", nearby, library=2.0, ring=1.0, tree=9.0),
            key(0, None, "library:tree", elsewhere, library=2.0, ring=1.5, tree=1.0),
        )
    )
    assert unlike.choose("allreduce", nearby, 8) == "library:ring"
    assert unlike.choose("allreduce", elsewhere, 8) == "library:tree"
    assert unlike.choose("allreduce", replace(EIGHT, placement="2" * 16), 8) == "library:ring"


def test_a_learned_policy_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "p.json"
    mine = learned(key(0, None, "library", library=1.0))
    write_learned(path, mine)
    assert read_learned(path) == mine
    assert [entry.name for entry in path.parent.iterdir()] == ["p.json"]
    with pytest.raises(MpiricError, match="directory"):
        read_learned(tmp_path)
    with pytest.raises(MpiricError, match="there is no"):
        read_learned(tmp_path / "absent")


@pytest.mark.parametrize(
    ("nodes", "order"),
    [
        ((0, 0, 1, 1), "block"),
        ((0, 1, 2), "block"),
        ((3, 3, 3), "block"),
        ((0, 1, 0, 1), "cyclic"),
        ((0, 1, 0), "mixed"),
        ((0, 1, 1, 0), "mixed"),
        ((0, 0, 1), "block"),
    ],
)
def test_orders_are_distinguished_as_the_format_says(nodes: tuple[int, ...], order: str) -> None:
    assert order_of(nodes) == order
