import pytest
from tests.support.paces import key, key_pace, run_pace, steps

from mpiric.model.errors import MpiricError
from mpiric.model.pace import MarkKey, MarkPair, RankPace, RunPace, read_mark_option
from mpiric.tuning.mark_choice import choose_named, parse_mark

STEP, OTHER = key("MPI_Allreduce", "app+0x10"), key("MPI_Allreduce", "app+0x20")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("allreduce@app+0x48f2", MarkKey("MPI_Allreduce", "app+0x48f2", 0, 0)),
        ("MPI_Reduce_scatter_block", MarkKey("MPI_Reduce_scatter_block", "", 0, 0)),
        ("send@*@4.1", MarkKey("MPI_Send", "", 4, 1)),
        ("ibcast@lib a.so+0x1@2.0", MarkKey("MPI_Ibcast", "lib a.so+0x1", 2, 0)),
        ("stdout:^step:1,2", MarkKey("stdout", "^step:1,2", 0, 0)),
        ("stdout:", MarkKey("stdout", "", 0, 0)),
    ],
)
def test_a_mark_is_a_call_or_a_line(text, expected):
    assert (parse_mark(text).key, parse_mark(text).numbers) == (expected, None)


def test_a_mark_may_name_the_two_calls():
    assert parse_mark("allreduce@app+0x10@4.0:400,1300").numbers == (400, 1300)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "'' cannot be a mark"),
        ("recv@app+0x1", "'recv' cannot be a mark"),
        ("allreduce@app", "'app' in 'allreduce@app'"),
        ("allreduce@app+0x1@world", "'world' in 'allreduce@app+0x1@world'"),
        ("allreduce@*@0.0", "'0.0' in 'allreduce@*@0.0'"),
        ("allreduce:5,5", "the calls 5 and 5 of 'allreduce:5,5'"),
        ("send@*@4.0@x", "'send@*@4.0@x'"),
        ("stdout:(", "'('"),
    ],
)
def test_an_invalid_mark_is_reported_in_a_sentence(text, wrong):
    with pytest.raises(MpiricError) as raised:
        parse_mark(text)
    assert raised.value.message.startswith(f"--mark: {wrong}")


def test_calls_from_anywhere_are_one_mark():
    pace = run_pace({STEP: steps(50, 1.0), OTHER: steps(50, 1.0, 0.5)}, 50.0)
    merged, choice = choose_named(pace, parse_mark("allreduce"))
    assert merged.first_rank.of(choice.key).calls == 100


def test_the_place_and_the_communicator_tell_calls_apart():
    pace = run_pace({STEP: steps(50, 1.0), OTHER: steps(20, 1.0)}, 50.0)
    merged, choice = choose_named(pace, parse_mark("allreduce@app+0x20@4.0"))
    assert merged.first_rank.of(choice.key).calls == 20
    assert choose_named(pace, parse_mark("allreduce@app+0x20@2.0"))[1].key is None


def test_a_mark_that_never_comes_is_reported_with_calls_that_do():
    pace = run_pace({STEP: steps(50, 1.0)}, 50.0)
    assert choose_named(pace, parse_mark("bcast"))[1].why == (
        "the mark bcast never came in 50 s; rank 0 made allreduce@app+0x10@4.0 50 times"
    )


def of_some_ranks(function, *ranks):
    pace = key_pace(key(function), steps(50, 1.0))
    return RunPace(4, tuple(RankPace(rank, 50.0, (pace,) if rank in ranks else ()) for rank in range(4)))


def test_a_collective_on_some_ranks_only_is_not_a_mark():
    _, choice = choose_named(of_some_ranks("MPI_Bcast", 0, 1), parse_mark("bcast"))
    assert choice.why.startswith("the mark bcast came on ranks 0, 1 only")
    assert choice.key is None


def test_a_send_of_rank_0_counts_on_it_alone():
    _, choice = choose_named(of_some_ranks("MPI_Send", 0), parse_mark("send"))
    assert choice.on_rank_0_alone
    assert choose_named(of_some_ranks("MPI_Send", 2), parse_mark("send"))[1].key is None


@pytest.mark.parametrize("text", ["stdout:^a@b@*:1,2 step", "stdout:", "bcast@app+0x1@4.0", "send"])
def test_a_recipe_can_name_any_mark(text):
    pair = MarkPair(parse_mark(text).key, 3, 40)
    assert read_mark_option(pair.option) == pair


def test_marks_without_two_calls_are_not_in_a_recipe():
    for text in ("MPI_Bcast@app@4.0:1,2", "stdout@x@4:1,2", "MPI_Bcast@*@*:2,2", "main", "MPI_Bcast"):
        assert read_mark_option(text) is None
