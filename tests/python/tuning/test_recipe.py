import os
import sys
from importlib import import_module
from math import inf
from pathlib import Path

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, NoRoomError, NotFoundError
from mpiric.model.evidence import Evidence, Fingerprint, ProvedMarks, Recipe, Share, Verdict, WholeCheck
from mpiric.model.knob import REMOVED
from mpiric.model.pace import MarkKey, MarkPair
from mpiric.statistics.confidence_sequence import median_interval
from mpiric.tuning.recipe import (
    file_name,
    find_recipes,
    parse_recipe,
    read_recipe,
    render_recipe,
    write_recipe,
)

_toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
SPEC = Path(__file__).parents[3] / "spec" / "formats"
MARKS = ProvedMarks(
    MarkPair(MarkKey("MPI_Allreduce", "lmp+0x48f2", 4, 0), 400, 1300),
    (0.12, 0.11),
    (0.0503, 0.0347),
    inputs=("in.lj", "data/é.dat"),
)
KNOWN = {"binding": {"core", "socket"}, "allocator": {"jemalloc"}}


def check(knob: str, value: str) -> str:
    if knob not in KNOWN:
        return "is unknown"
    return "" if value in KNOWN[knob] else f"cannot be {value}"


def _recipe(**changes: object) -> Recipe:
    evidence = Evidence(
        Configuration(),
        Verdict.FASTER,
        1.5,
        1.4,
        1.6,
        ((3.0, 2.0), (3.1, 2.0)),
        0.99,
        0.01,
        "decided",
        ("a",),
        shares=(
            Share(("allocator", "binding"), 1.5, 1.4, 1.6, 7, shown=True, why="shown by 7 runs"),
            Share(("waiting",), 1.1, 0.9, 1.3, 7, shown=False, is_likely=True),
            Share(("threads",), 1.0, 0.0, inf, 1, shown=False, is_needed=True),
        ),
        stopped=(1,),
    )
    fields: dict[str, object] = {
        "name": "lmp", "configuration": Configuration.of({"binding": "core", "allocator": "jemalloc"}),
        "fingerprint": Fingerprint({"cpu": "icelake"}, {"version": "5.0.2"}, {"name": "lmp", "ranks": "2"}),
        "evidence": evidence, "command": ("mpirun", "-n", "2", "lmp", "-var", "a b\n"),
        "created": "2026-11-21T08:00:00Z", "reasons": {"binding": "ranks stay where their memory is"},
        "mpiric_version": "0.1",
    }  # fmt: skip
    return Recipe(**{**fields, **changes})  # type: ignore[arg-type]


def _parse(text: str) -> Recipe:
    return parse_recipe(text.encode(), "x.toml", check)


def test_a_recipe_comes_back_as_it_went_in(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lmp.recipe.toml"
    write_recipe(path, _recipe())
    assert read_recipe(path, check) == _recipe()


def test_a_recipe_of_the_first_version_gets_the_interval_of_its_verdict() -> None:
    text = (SPEC / "recipe.example.toml").read_text().split("\n[[evidence.shares]]")[0]
    recipe = parse_recipe(
        text.replace("mpiric_recipe = 2", "mpiric_recipe = 1").encode(), "x.toml", lambda *_: ""
    )
    assert recipe.evidence is not None
    ratios = sorted(original / tuned for original, tuned in recipe.evidence.pairs)
    assert (recipe.evidence.low, recipe.evidence.high) == median_interval(ratios, 0.01)
    assert recipe.evidence.low < 1.27
    assert recipe.evidence.shares == ()


def test_a_share_that_is_not_a_ratio_is_refused() -> None:
    text = (SPEC / "recipe.example.toml").read_text().replace("ratio = 1.17", "ratio = -1.0")
    with pytest.raises(MpiricError, match=r"shares\[1\].ratio"):
        parse_recipe(text.encode(), "x.toml", lambda *_: "")


def test_a_recipe_without_evidence_comes_back(tmp_path: Path) -> None:
    assert _parse(render_recipe(_recipe(evidence=None))).evidence is None


def test_the_example_of_the_format_is_readable() -> None:
    recipe = read_recipe(SPEC / "recipe.example.toml", lambda knob, value: "")
    assert recipe.evidence is not None
    assert recipe.evidence.verdict is Verdict.FASTER


def test_the_page_of_the_format_shows_the_example() -> None:
    assert (SPEC / "recipe.example.toml").read_text() in (SPEC / "recipe.md").read_text()


def test_the_page_of_the_format_names_every_key() -> None:
    page = (SPEC / "recipe.md").read_text()
    keys = [line.split(" = ")[0] for line in render_recipe(_recipe()).splitlines() if " = " in line]
    known_keys = set(KNOWN) | {"cpu", "version", "name", "ranks"}
    assert [key for key in keys if key not in known_keys and f"`{key}`" not in page] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("mpiric_recipe = 2", "mpiric_recipe = 3"), "format 3"),
        (("mpiric_recipe = 2", "mpiric_recipe = true"), "'mpiric_recipe' must be a whole number"),
        (("mpiric_recipe = 2\n", ""), "'mpiric_recipe' is missing"),
        (('binding = "core"', 'binding = "moon"'), "'configuration.binding' cannot be moon"),
        (
            ('binding = "core"', 'preload = "/tmp/evil.so"'),
            "'configuration.preload' is unknown",
        ),
        (('binding = "core"', '"LD PRELOAD" = "x"'), "'configuration.LD PRELOAD'"),
        (('binding = "core"', "binding = 3"), "'configuration.binding' must be a string"),
        (('binding = "core"', 'binding = "' + "c" * 300 + '"'), "longer than any"),
        (('name = "lmp"', 'name = "lmp"\nrun = "rm -rf /"'), "'run' is not a key of this format"),
        (('name = "lmp"', 'name = "\\u001b[2Jlmp"'), "'name' holds control characters"),
        (('name = "lmp"', 'name = "\\u202elmp"'), "'name' holds control characters"),
        (("stopped = [\n    1,\n]", "stopped = [2]"), "'evidence.stopped' must be whole numbers from 0 to 1"),
        (("ratio = 1.5", "ratio = nan"), "'evidence.ratio' must be a number"),
        (("ratio = 1.5", "ratio = inf"), "'evidence.ratio' must be a finite number"),
        (("ratio = 1.5", "ratio = -1.0"), "must be ratios of two times"),
        (("ratio = 1.5", "ratio = 1" + "0" * 400), "too large"),
        (("ratio = 1.5", "ratio = 1" + "0" * 9000), "recipe"),
        (('verdict = "faster"', 'verdict = "best"'), "'evidence.verdict' must be one of"),
        (('[fingerprint.machine]\ncpu = "icelake"', "[fingerprint.weather]\nrain = 1"), "machine"),
        (("[configuration]", "[configuration]\n[configuration]"), "recipe"),
    ],
)
def test_a_wrong_field_is_named(change: tuple[str, str], message: str) -> None:
    text = render_recipe(_recipe())
    assert change[0] in text
    with pytest.raises(MpiricError) as caught:
        _parse(text.replace(*change, 1))
    assert "x.toml" in caught.value.message
    assert message in caught.value.message
    assert caught.value.hint


def test_a_syntax_error_names_the_line() -> None:
    with pytest.raises(MpiricError, match="line 2"):
        _parse("mpiric_recipe = 1\nname = lmp\n")


@pytest.mark.parametrize("depth", [100, 20_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    with pytest.raises(MpiricError):
        _parse("mpiric_recipe = 1\nx = " + "[" * depth + "]" * depth)


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.recipe.toml"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(MpiricError, match="larger than any recipe"):
        read_recipe(path, check)


@pytest.mark.parametrize("kind", ["missing", "directory", "fifo", "device"])
def test_a_recipe_that_is_not_a_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.recipe.toml"
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    with pytest.raises(MpiricError):
        read_recipe(path, check)


def test_every_truncation_is_refused_or_still_a_checked_recipe() -> None:
    data = render_recipe(_recipe()).encode()
    for length in range(len(data)):
        _harmless(data[:length])


def _harmless(data: bytes) -> None:
    """Refused with a MpiricError, or a recipe whose every setting passed the check."""
    try:
        recipe = parse_recipe(data, "x.toml", check)
    except MpiricError:
        return
    assert all(not check(knob, value) for knob, value in recipe.configuration.items)


@given(st.binary(max_size=400))
def test_random_bytes_never_escape(data: bytes) -> None:
    _harmless(data)


_TOML = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
_KEYS = ("mpiric_recipe", "name", "created", "command", "configuration", "reasons", "fingerprint", "evidence")


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=200)
@given(st.sampled_from(_KEYS), _TOML)
def test_any_value_under_any_key_never_escapes(key: str, value: object) -> None:
    document = _toml.loads(render_recipe(_recipe()))
    document[key] = value
    _harmless(tomli_w.dumps(document).encode())


@settings(max_examples=300)
@given(st.data())
def test_flipped_and_inserted_bytes_never_escape(data: st.DataObject) -> None:
    text = bytearray(render_recipe(_recipe()).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text) - 1))
        text[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=6))
    _harmless(bytes(text))


def test_a_recipe_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(NoRoomError):
        write_recipe(tmp_path / "file" / "x.recipe.toml", _recipe())
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_best_fitting_recipe_comes_first_and_broken_ones_are_reported(tmp_path: Path) -> None:
    write_recipe(tmp_path / "a" / "one.recipe.toml", _recipe(name="far"))
    write_recipe(tmp_path / "b" / "two.recipe.toml", _recipe(name="near"))
    write_recipe(tmp_path / "b" / "three.recipe.toml", _recipe(name="never"))
    (tmp_path / "b" / "bad.recipe.toml").write_text("x")
    scores = {"far": -3.0, "near": 0.0, "never": None}
    recipes, errors = find_recipes(tmp_path, check, lambda recipe: scores[recipe.name])
    assert find_recipes(tmp_path / "none", check, lambda _: 0.0) == ((), ())
    assert [recipe.name for _, recipe in recipes] == ["near", "far"]
    assert len(errors) == 1


def test_of_equally_fitting_recipes_the_newest_comes_first(tmp_path: Path) -> None:
    write_recipe(tmp_path / "z.recipe.toml", _recipe(created="2026-01-01T00:00:00Z", name="old"))
    write_recipe(tmp_path / "a.recipe.toml", _recipe(created="2026-02-01T00:00:00Z", name="new"))
    recipes, _ = find_recipes(tmp_path, check, lambda _: 0.0)
    assert [recipe.name for _, recipe in recipes] == ["new", "old"]


@pytest.mark.parametrize("program", ["../../etc/passwd", "", "a/b c", "x" * 500, ".hidden", "é$(rm)"])
def test_file_names_are_harmless(program: str) -> None:
    name = file_name(program)
    assert "/" not in name
    assert not name.startswith(".")
    assert len(name) < 130
    assert name.isascii()


def test_a_missing_recipe_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read_recipe(tmp_path / "x.toml", check)


def test_a_recipe_proved_at_marks_says_that_no_whole_run_was_looked_at(tmp_path: Path) -> None:
    path, recipe = tmp_path / "r.recipe.toml", _recipe(scope="steps", whole=WholeCheck(), marks=MARKS)
    write_recipe(path, recipe)
    assert read_recipe(path, check) == recipe
    path.write_text(path.read_text().replace('"not run"', '"surely fine"'))
    with pytest.raises(MpiricError, match="must be one of not run"):
        read_recipe(path, check)
    assert "scope" not in render_recipe(_recipe())


@pytest.mark.parametrize("name", sorted(REMOVED))
def test_a_recipe_that_sets_a_removed_knob_is_read_without_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / "old.toml"
    text = render_recipe(_recipe()).replace("[configuration]\n", f'[configuration]\n{name} = "x"\n')
    path.write_text(text)
    recipe = read_recipe(path, lambda knob, _: f"no knob is called {knob}" if knob == name else "")
    assert recipe.removed == (name,)
    assert recipe.configuration == _recipe().configuration
