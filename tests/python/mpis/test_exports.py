import json

import pytest

from mpiric.model.errors import MismatchError
from mpiric.model.policy import Line, Policy, Span
from mpiric.mpis import export

GENERIC = json.dumps(
    {
        "collective=allreduce": {"comm_type=intra": {"algorithm=MPIR_Allreduce_intra_before": {}}},
        "collective=alltoall": {"comm_type=intra": {"algorithm=MPIR_Alltoall_intra_before": {}}},
        "collective=allgather": {"comm_type=intra": {"algorithm=MPIR_Allgather_intra_before": {}}},
    }
)
CH4 = json.dumps(
    {"collective=allreduce": {"comm_type=intra": {"composition=MPIDI_Allreduce_intra_composition_alpha": {}}}}
)


def policy(implementation: str, version: str, *lines: Line) -> Policy:
    return Policy(implementation, version, lines)


def line(collective: str, candidate: str, start: int = 0, end: int | None = None, **of) -> Line:
    return Line(collective, candidate, ranks=of.get("ranks", Span(4, 4)), start=start, end=end)


def walk(tree: dict, size: int, ranks: int, *, answers: dict[str, str] | None = None) -> str:
    """Search a tree as MPICH's csel.c does: take the first condition that holds, without backtracking."""
    for key, branch in tree.items():
        if key.startswith(("algorithm=", "composition=")):
            return key.partition("=")[2] + "".join(f" {parameter}" for parameter in branch)
        word, _, limit = key.partition("<=")
        number = {"comm_size": ranks, "total_msg_size": size * ranks, "avg_msg_size": size}.get(word)
        condition, _, value = key.partition("=")
        holds = number <= int(limit) if limit and number is not None else value == "any"
        if not holds and condition.startswith("is_"):
            holds = (answers or {}).get(condition, "yes") == value
        if holds:
            return walk(branch, size, ranks, answers=answers)
    raise AssertionError("a branch without an end")


def mpich_tree(*lines: Line) -> dict:
    return json.loads(export(policy("mpich", "5.0.2", *lines), (GENERIC, CH4)).files["mpich-coll.json"])


def test_choices_are_grafted_into_mpichs_own_trees() -> None:
    lines = (
        line("allreduce", "library:recexch radix=4 single_phase=1", 1024, 4096),
        line("allgather", "library:ring", 100, 200),
    )
    tree = mpich_tree(*lines)
    entries = [
        walk(tree["collective=allreduce"]["comm_type=intra"], size, 4) for size in (1023, 1024, 4095, 4096)
    ]
    chosen = "MPIR_Allreduce_intra_recexch k=4 single_phase_recv=1"
    before = "MPIR_Allreduce_intra_before"
    assert entries == [before, chosen, chosen, before]
    for ranks in (3, 5):
        assert walk(tree["collective=allreduce"]["comm_type=intra"], 2000, ranks) == before
    no = {"is_commutative": "no"}
    assert walk(tree["collective=allreduce"]["comm_type=intra"], 2000, 4, answers=no) == before
    gathered = tree["collective=allgather"]["comm_type=intra"]
    assert walk(gathered, 150, 4) == "MPIR_Allgather_intra_ring"
    assert walk(gathered, 99, 4) == walk(gathered, 200, 4) == "MPIR_Allgather_intra_before"


def test_the_device_is_asked_for_its_flat_form_where_a_choice_was_made() -> None:
    exported = export(policy("mpich", "5.0.2", line("allreduce", "library:ring", 1024)), (GENERIC, CH4))
    tree = json.loads(exported.files["mpich-coll-ch4.json"])["collective=allreduce"]["comm_type=intra"]
    assert walk(tree, 10, 4) == "MPIDI_Allreduce_intra_composition_alpha"
    assert walk(tree, 2000, 4) == "MPIDI_Allreduce_intra_composition_beta"


def test_an_alltoall_in_place_goes_on_as_before() -> None:
    tree = mpich_tree(line("alltoall", "library:brucks"))["collective=alltoall"]["comm_type=intra"]
    assert walk(tree, 10, 4, answers={"is_sendbuf_inplace": "no"}) == "MPIR_Alltoall_intra_brucks"
    assert walk(tree, 10, 4, answers={"is_sendbuf_inplace": "yes"}) == "MPIR_Alltoall_intra_before"


def test_an_mpich_without_trees_is_named() -> None:
    with pytest.raises(MismatchError, match="no built-in table"):
        export(policy("mpich", "5.0.2", line("allreduce", "library:ring")), ())


def test_open_mpis_rules_are_about_all_blocks_together_and_end_where_the_policy_ends() -> None:
    exported = export(
        policy(
            "openmpi",
            "5.0.11",
            line("allgather", "library:ring", 100, 200),
            line("bcast", "library:pipeline segment=65536", ranks=Span(2, 8)),
            line("alltoall", "own:bruck"),
        )
    )
    numbers = [
        word
        for row in exported.files["coll_tuned.rules"].splitlines()[1:]
        for word in row.partition("#")[0].split()
    ]
    assert " ".join(numbers) == (
        "2 "
        "0 3  0 1 0 0 0 0 0  4 3 0 0 0 0 0 400 4 0 0 0 800 0 0 0 0  5 1 0 0 0 0 0 "
        "7 3  0 1 0 0 0 0 0  2 1 0 3 0 65536 0  9 1 0 0 0 0 0"
    ).replace("  ", " ")
    assert exported.left_out == ("alltoall: own:bruck is an algorithm of mpiric, not of the library",)


def test_open_mpi_6_gets_names() -> None:
    exported = export(policy("openmpi", "6.0.0", line("bcast", "library:pipeline segment=65536", 10, 20)))
    document = json.loads(exported.files["coll_tuned.json"])
    assert document["collectives"]["bcast"] == [
        {
            "comm_size_min": 4,
            "comm_size_max": 4,
            "rules": [{"msg_size_min": 10, "msg_size_max": 19, "alg": "pipeline", "seg_size": 65536}],
        }
    ]


def test_open_mpi_4_has_no_requests_in_a_rule() -> None:
    exported = export(policy("openmpi", "4.1.4", line("bcast", "library:pipeline")))
    text = exported.files["coll_tuned.rules"]
    assert "rule-file-version" not in text
    assert "\n0 3 0 0\n" in text


def test_intel_mpis_lists_cover_every_size() -> None:
    exported = export(policy("intelmpi", "2021.19", line("allreduce", "library:ring", 4096, 16384)))
    assert exported.variables == {"I_MPI_ADJUST_ALLREDUCE": "0:0-4095;8:4096-16383;0:16384-2147483647"}
    two = export(
        policy(
            "intelmpi",
            "2021.19",
            line("allreduce", "library:ring"),
            line("allreduce", "library:knomial", ranks=Span(8, 8)),
        )
    )
    assert two.variables == {}
    assert sorted(two.files) == ["intelmpi-4-ranks.sh", "intelmpi-8-ranks.sh"]


def test_intel_mpi_has_a_parameter_where_it_is_the_same_for_all_sizes() -> None:
    segments = (
        line("bcast", "library:shumilin segment=4096", 0, 100),
        line("bcast", "library:shumilin segment=65536", 100),
    )
    name = "I_MPI_ADJUST_BCAST_NETWORK_SHUMILIN_SEGSIZE"
    alike = export(policy("intelmpi", "2021.19", segments[0], line("bcast", "library:ring", 100)))
    assert (alike.variables[name], alike.left_out) == ("4096", ())
    for other in (segments[1], line("bcast", "library:shumilin", 100)):
        differing = export(policy("intelmpi", "2021.19", segments[0], other))
        assert name not in differing.variables
        assert differing.left_out == ("bcast: segment of shumilin by size",)


def test_long_stretches_of_ranks_are_cut_where_sizes_are_of_all_together() -> None:
    exported = export(
        policy("openmpi", "5.0.11", line("allgather", "library:ring", 100, ranks=Span(2, None)))
    )
    rows = exported.files["coll_tuned.rules"].splitlines()
    assert rows[rows.index("3 # ranks") + 3].startswith("300 4")
    assert rows[rows.index("64 # ranks") + 3].startswith("6400 4")
    assert "65 # ranks" not in rows


def test_a_library_that_reads_no_such_file_is_named() -> None:
    with pytest.raises(MismatchError, match="mvapich"):
        export(policy("mvapich", "3.0", line("bcast", "library:binomial")))


def rules_of(version: str, *lines: Line) -> tuple[str, tuple[str, ...]]:
    exported = export(policy("openmpi", version, *lines))
    return exported.files["coll_tuned.rules"], exported.left_out


def test_a_chain_has_the_fanout_that_it_has_by_itself() -> None:
    assert "\n0 2 4 0 0\n" in rules_of("5.0.11", line("bcast", "library:chain"))[0]
    assert "\n0 2 8 0 0\n" in rules_of("5.0.11", line("bcast", "library:chain fanout=8"))[0]


def test_open_mpis_ranks_never_take_different_rules() -> None:
    # Only the root knows the size of a scatter; the value on other ranks has no meaning.
    text, remaining = rules_of(
        "5.0.11", line("scatter", "library:binomial", 1024), line("gather", "library:binomial")
    )
    assert "# scatter" not in text
    assert "# gather" in text
    assert [sentence.partition(":")[0] for sentence in remaining] == ["scatter"]


@pytest.mark.parametrize(
    ("implementation", "version", "collective", "candidate", "lost"),
    [
        ("openmpi", "5.0.11", "bcast", "library:knomial radix=8", "bcast: radix of knomial"),
        (
            "openmpi",
            "4.1.4",
            "alltoall",
            "library:linear_sync requests=8",
            "alltoall: requests of linear_sync",
        ),
        ("openmpi", "5.0.11", "iallreduce", "library:ring", "iallreduce: "),
        ("mpich", "5.0.2", "alltoall", "library:scattered requests=4", "alltoall: requests of scattered"),
        ("mpich", "5.0.2", "ibcast", "library:tsp_tree radix=4", "ibcast: "),
        ("intelmpi", "2021.19", "iallreduce", "library:ring", "iallreduce: "),
        ("mpich", "5.0.2", "gather", "library:binomial", "gather: "),
        ("mpich", "5.0.2", "allreduce", "library:nb", "allreduce: library:nb "),
        ("mpich", "5.0.2", "allreduce", "library:shared_memory", "allreduce: library:shared_memory "),
    ],
)
def test_parts_that_a_format_cannot_express_are_reported(
    implementation: str, version: str, collective: str, candidate: str, lost: str
) -> None:
    exported = export(policy(implementation, version, line(collective, candidate)), (GENERIC, CH4))
    assert [sentence[: len(lost)] for sentence in exported.left_out if lost in sentence] == [lost]


def test_open_mpis_han_hands_over_the_sizes_with_a_choice_and_nothing_else() -> None:
    lines = (line("allgather", "library:ring", 100, 200), line("alltoall", "library:pairwise", 64))
    exported = export(policy("openmpi", "5.0.11", *lines))
    rows = [row.partition(" #")[0] for row in exported.files["coll_han.rules"].splitlines()]
    assert rows[:4] == ["1", "0", "1", "global_communicator"]
    assert " ".join(rows[4:]) == "3 1 1 0 han 4 3 0 han 100 tuned 200 han 5 1 0 han"
    assert exported.by_file["OMPI_MCA_coll_han_dynamic_rules_filename"] == "coll_han.rules"
    assert not [name for name in exported.variables if name.endswith("priority")]
    assert "coll_han.rules" not in export(policy("openmpi", "4.1.4", *lines)).files
    assert "coll_han.rules" not in export(policy("openmpi", "5.0.11", lines[1])).files


@pytest.mark.parametrize(
    ("implementation", "version"), [("openmpi", "5.0.11"), ("mpich", "5.0.2"), ("intelmpi", "2021.19")]
)
@pytest.mark.parametrize("candidate", ["library", "own:bruck"])
def test_a_policy_without_a_choice_of_the_library_has_no_files(
    implementation: str, version: str, candidate: str
) -> None:
    exported = export(policy(implementation, version, line("alltoall", candidate)), (GENERIC, CH4))
    assert (exported.files, exported.variables, exported.by_file) == ({}, {}, {})


def test_intel_mpi_counts_all_blocks_of_a_reduce_scatter_and_one_of_an_alltoall() -> None:
    lines = (
        line("reduce_scatter", "library:pairwise", 1024, 4096),
        line("alltoall", "library:plum", 1024, 4096),
    )
    assert export(policy("intelmpi", "2021.19", *lines)).variables == {
        "I_MPI_ADJUST_ALLTOALL": "0:0-1023;4:1024-4095;0:4096-2147483647",
        "I_MPI_ADJUST_REDUCE_SCATTER": "0:0-4095;2:4096-16383;0:16384-2147483647",
    }
    wide = line("reduce_scatter", "library:pairwise", 1024, ranks=Span(2, 8))
    assert "several numbers of ranks" in export(policy("intelmpi", "2021.19", wide)).left_out[0]
