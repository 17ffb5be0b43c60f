"""Tunes of settings that depend on the record of a run: the order of ranks, files."""

from tests.recorded.case import Case, tune
from tests.recorded.mapper import with_mapper
from tests.recorded.program import PATH, Effect, traffic_record, writing_record

TWO_HOSTS = f"mpirun.openmpi --host n1:2,n2:2 -n 4 {PATH}"

CASES = (
    Case(
        "rank-order",
        [with_mapper(0, 2, 3, 1), tune("--max-runs 40", "rank-order", TWO_HOSTS)],
        {"record": traffic_record(), "rank_count": 4, "effects": {"rank-order": Effect(0.8)}},
    ),
    Case(
        "objective-io",
        [tune("--objective io --io-budget 100GiB --allow-late --allow-relayout --max-runs 40", "binding")],
        {
            "record": writing_record,
            "files": lambda number: {"checkpoint.dat": "0" * 1000},
            "effects": {"binding": Effect(0.8)},
        },
    ),
)
