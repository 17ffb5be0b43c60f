"""Reading results of `mpiric fabric`; other files are not accepted."""

from pathlib import Path

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.model.errors import MpiricError
from mpiric.model.fabric import PairClass, Point, Probe
from mpiric.workflows.fabric.fabric import against_fabric, fabric_baseline


def probe(*times_us: float) -> Probe:
    points = tuple(Point(8**at, t * 2, t, 0.0) for at, t in enumerate(times_us, 1))
    return Probe(points={PairClass.OTHER_NODE: points})


def test_a_run_is_one_number_however_many_sizes_it_has():
    baseline = fabric_baseline([probe(1.0, 100.0), probe(2.0, 200.0)])
    assert baseline[PairClass.OTHER_NODE] == pytest.approx((10.0, 20.0))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "not a baseline"),
        ('{"pairs": []}', "not a baseline"),
        ('{"baseline_us": {"elsewhere": [1.0]}}', "not a baseline"),
        ('{"baseline_us": {"self": [0.0]}}', "no times"),
        ('{"baseline_us": {"self": [1.0]}}', "too few runs"),
    ],
)
def test_a_file_that_holds_no_baseline_is_refused_with_a_way_out(tmp_path: Path, text: str, word: str):
    path = tmp_path / "kept.json"
    path.write_text(text)
    with pytest.raises(MpiricError, match=word) as caught:
        against_fabric(path, ("mpirun", "-n", "2", "true"), "/", LocalHost(), print, 0.99, 0.01)
    assert "mpiric fabric --keep" in caught.value.hint
