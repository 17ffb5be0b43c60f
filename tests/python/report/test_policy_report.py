import io
import json
from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner
from rich.console import Console

from mpiric.cli.report import command
from mpiric.model.policy import LearnedKey, LearnedPolicy, Measured, Shape
from mpiric.report.policy_text import legend, overall_gain, pictures, policy_html, policy_json, print_policy
from mpiric.tuning.policy_files import read_learned, write_learned
from mpiric.tuning.policy_merge import library_choices

EIGHT = Shape(8, 4, 2)
TIMES = (
    Measured("library", 10, 4e-6, 3e-6, 5e-6),
    Measured("library:ring", 10, 2e-6, 1e-6, 3e-6),
    Measured("own:<b>", 10, 1e-6, 1e-6, 2e-6),
)
KEY = LearnedKey("bcast", EIGHT, 1024, 4096, "own:<b>", True, 0.99, 1000, 30, 1e-3, TIMES)
POLICY = LearnedPolicy(
    "openmpi",
    "5.0.11",
    EIGHT,
    (
        KEY,
        replace(KEY, start=4096, end=None, candidate="library"),
        replace(KEY, start=64, end=128, decided=False, candidate="library"),
    ),
    collective_s=2.0,
    learning_s=0.01,
)


def test_the_picture_has_a_mark_for_each_power_of_two() -> None:
    (line,) = pictures(POLICY)
    assert line.marks == "      ?   AA·············"
    assert legend(POLICY) == {"library": "·", "own:<b>": "A"}


def test_gain_is_a_geometric_mean_over_keys() -> None:
    assert round(overall_gain(POLICY) or 0, 3) == round(4 ** (1 / 3), 3)
    assert overall_gain(replace(POLICY, keys=())) is None


def test_the_letter_names_winner_and_gain() -> None:
    text = io.StringIO()
    print_policy(POLICY, Console(file=text, width=160, highlight=False, markup=False))
    assert "1 KiB – 4 KiB" in text.getvalue()
    assert "4.00×" in text.getvalue()
    assert "undecided" in text.getvalue()


def test_the_page_escapes_names_and_is_self_contained() -> None:
    page = policy_html(POLICY, "1.0")
    assert "own:<b>" not in page
    assert "own:&lt;b&gt;" in page
    assert page.count("<polyline") == 3
    assert "http" not in page.replace("http-equiv", "")


def test_without_own_takes_the_best_of_the_librarys() -> None:
    own_key = replace(KEY, candidate="own:b", candidates=(*TIMES[:2], replace(TIMES[2], name="own:b")))
    assert [key.candidate for key in library_choices(replace(POLICY, keys=(own_key,))).keys] == [
        "library:ring"
    ]


def test_the_verb_merges_shows_and_exports(tmp_path: Path) -> None:
    mine = replace(POLICY, keys=(replace(KEY, candidate="library:ring", candidates=TIMES[:2]),))
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    write_learned(first, mine)
    write_learned(second, replace(mine, keys=(replace(mine.keys[0], collective="allreduce"),)))
    out = tmp_path / "out"
    done = CliRunner().invoke(command, [str(first), str(second), "--json", "--export", str(out)])
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert [key["collective"] for key in shown["keys"]] == ["allreduce", "bcast"]
    assert shown["gain"] == 2.0
    assert len(read_learned(out / "openmpi-5.policy.json").keys) == 2
    assert "choose bcast 8 4 2 block * 1024 4096 library:ring" in (out / "mpiric.policy").read_text()
    assert str(out / "coll_tuned.rules") in (out / "collectives.sh").read_text()
    assert policy_json(mine)["ranks"] == 8
