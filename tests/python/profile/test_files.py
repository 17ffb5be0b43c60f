import pytest
from tests.support import records

from mpiric.model.record import FileDetail
from mpiric.model.storage import FileLayout, Stripes
from mpiric.profile.files import file_totals, ranks_in_one_stripe

KIB, MIB = 1 << 10, 1 << 20
PLAIN = FileDetail(frozenset({"write"}), 0, 0.0, 0.0, 0, 0, 0, 0, 0, 0.0, 0, 0)


def use(first, end, *, accesses=10, sequential=None, strided=0, **changed):
    fields = {name: getattr(PLAIN, name) for name in PLAIN.__slots__}
    detail = FileDetail(**{**fields, "first_byte": first, "end_byte": end, "strided": strided, **changed})
    sequential = accesses if sequential is None else sequential
    return records.file("f", writes=accesses, sequential=sequential, detail=detail)


def total(*uses, hosts=("n1", "n2")):
    ranks = [
        records.rank(at, 1.0, files=(use,), facts={"host": hosts[at % len(hosts)]})
        for at, use in enumerate(uses)
    ]
    return file_totals(records.record(*ranks))[0]


@pytest.mark.parametrize(
    ("pattern", "uses"),
    [
        ("segmented", (use(0, MIB), use(MIB, 2 * MIB))),
        ("repeated", (use(0, MIB), use(0, MIB))),
        ("strided", (use(0, 19 * KIB, sequential=1, strided=8), use(KIB, 20 * KIB, sequential=1, strided=8))),
        ("random", (use(0, 19 * KIB, sequential=1, strided=2), use(KIB, 20 * KIB, sequential=2))),
        (None, (use(0, 0),)),
        (None, (records.file("f", writes=3),)),
    ],
)
def test_a_pattern_has_the_field_s_name(pattern, uses):
    assert total(*uses).pattern == pattern


def test_the_rank_whose_creating_open_was_first_made_the_file():
    late, early = use(0, 1, creating=1, created_unix_s=20.5), use(0, 1, creating=2, created_unix_s=20.25)
    assert total(late, early).created_by == 1
    assert total(use(0, 1), use(0, 1)).created_by is None


def test_nodes_are_those_of_the_ranks_that_used_it():
    assert [total(*[use(0, 1)] * count).nodes for count in (1, 2, 3)] == [1, 2, 2]


@pytest.mark.parametrize(
    ("shared", "uses"),
    [
        (False, (use(0, MIB), use(MIB, 2 * MIB))),
        (True, (use(0, MIB + 1), use(MIB + 1, 2 * MIB))),
        (True, (use(0, 19 * KIB, largest=KIB), use(KIB, 20 * KIB, largest=KIB))),
        (None, (use(0, 19 * MIB, largest=MIB), use(MIB, 20 * MIB, largest=MIB))),
        (False, (use(0, MIB),)),
        (None, (records.file("f", writes=3),)),
    ],
)
def test_two_ranks_in_one_stripe_are_seen_where_ranges_tell(shared, uses):
    record = records.record(*[records.rank(at, 1.0, files=(file_use,)) for at, file_use in enumerate(uses)])
    assert ranks_in_one_stripe(record, "f", FileLayout((Stripes(4, MIB),))) is shared
