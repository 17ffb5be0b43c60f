"""The benchmark of predictions, in its short form."""

import json
from argparse import Namespace

from benchmarks.scale_predictions import held_back, measure


def test_curves_of_one_mechanism_are_predicted_and_changing_ones_refused():
    result = measure(Namespace(quick=True, sets=1, seed=0, programs=[]))
    rows = {row["mechanism"]: row for row in result.rows}
    assert rows["Amdahl"]["error"] < 0.05
    assert rows["jump"]["predicted"] == 0


def test_the_largest_size_of_a_program_is_held_back(tmp_path):
    rows = [
        {"cores": p, "time_s": 1 / p + 0.1, "low_s": 0.99 / p, "high_s": 1.01 / p, "oversubscribed": False}
        for p in (1, 2, 4, 8)
    ]
    path = tmp_path / "app.json"
    path.write_text(json.dumps({"sizes": rows, "weak": False}))
    ((name, [(error, _)]),) = held_back(path)
    assert name == "program app"
    assert error < 0.1
